package callout

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
)

// Kind is the kind of a statement.
type Kind string

// Kinds of statements. The first group states a value; the others are about statements or a state.
const (
	Notice     Kind = "notice"     // the organization, the doctor and the laboratory were notified of a critical value
	Call       Kind = "call"       // a person was informed, and read it back where required
	Attempt    Kind = "attempt"    // a call that reached no one or was not read back
	Correction Kind = "correction" // the value changed and is not critical
	Withdrawal Kind = "withdrawal" // the result does not exist: blank, unreadable, dismissed, or of another patient

	Escalation       Kind = "escalation"
	Reminder         Kind = "reminder"
	LimitsChanged    Kind = "limits"          // not critical under changed limits; no statement was wrong
	Suppression      Kind = "suppression"     // the repeat policy makes a call unnecessary
	Unclear          Kind = "unclear"         // a value is not comparable with its limits; holds until a Clear
	UnclearNotice    Kind = "unclear_notice"  // the laboratory was notified of an unclear value
	Clear            Kind = "clear"           // an unclear value, a suppression or the absence of a value ended
	Unconfirmed      Kind = "unconfirmed"     // the laboratory was notified of a critical rerun value
	CorrectionCalled Kind = "correction_call" // a person was informed that a value was wrong
)

// aboutValue reports whether statements of this kind state a critical value.
func (k Kind) aboutValue() bool { return k == Notice || k == Call || k == Attempt }

// Audience holds the receivers of a statement. An id is 0 without an organization or a doctor.
type Audience struct {
	OrgID, DoctorID int64
	Persons         []string `json:"-"` // stored in the ledger only, not in messages
}

// same reports whether a and b have the same organization and doctor.
func (a Audience) same(b Audience) bool { return a.OrgID == b.OrgID && a.DoctorID == b.DoctorID }

// reached reports whether a includes the organization and the doctor of b. It is false if b has neither.
func (a Audience) reached(b Audience) bool {
	return (b.OrgID != 0 || b.DoctorID != 0) && (b.OrgID == 0 || a.OrgID == b.OrgID) &&
		(b.DoctorID == 0 || a.DoctorID == b.DoctorID)
}

// without returns a without the organizations and doctors of others; ok is false if nothing remains.
func (a Audience) without(others ...Audience) (rest Audience, ok bool) {
	for _, o := range others {
		if a.same(o) {
			return a, false
		}
	}
	rest = a
	for _, o := range others {
		if o.OrgID == rest.OrgID {
			rest.OrgID = 0
		}
		if o.DoctorID == rest.DoctorID {
			rest.DoctorID = 0
		}
	}
	return rest, len(others) == 0 || rest.OrgID != 0 || rest.DoctorID != 0
}

// Key identifies a parameter of a report. Format ids are unsuitable, because they change when a test is reconfigured.
type Key struct {
	TestID int64
	Index  int
}

// Key returns the parameter's identity.
func (p *Parameter) Key() Key { return Key{p.TestID, p.Index} }

// Same reports whether two values are equal: as numbers when both are numbers, otherwise as texts.
func (p *Parameter) Same(o *Parameter) bool {
	if p.Value != nil && o.Value != nil && plain(p.RawValue) && plain(o.RawValue) {
		return *p.Value == *o.Value
	}
	return strings.EqualFold(strings.TrimSpace(p.RawValue), strings.TrimSpace(o.RawValue))
}

// plain reports whether a value has no comparison sign, because ">8" is not equal to 8.
func plain(raw string) bool { return !strings.ContainsAny(raw, "<>≤≥") }

// Worse reports whether p is worse than the earlier value o: further outside on the same side, critical on the other
// side, or a different text.
func (p *Parameter) Worse(o *Parameter) bool {
	if p.Flag != o.Flag {
		return true
	}
	switch {
	case p.Same(o):
		return false
	case p.Value == nil || o.Value == nil || p.Flag == FlagText:
		return true
	case p.Flag == FlagLow:
		return *p.Value < *o.Value
	}
	return *p.Value > *o.Value
}

// Statement is something said about values of a report. Statements are only added: one holds until a later one takes it
// back.
type Statement struct {
	ID int64 // 0: not stored yet
	// Key is unique within the report.
	Key        string
	Kind       Kind
	BillID     int64 // the bill when it was stated
	PatientID  int64 // the patient when it was stated
	Parameters []Parameter
	Audience   Audience
	// Heard is set if a person heard the values: in a completed call, or in an attempt that was not read back. For a
	// correction or withdrawal, it is set if the statement taken back was heard.
	Heard    bool
	ReadBack bool
	SaidAt   time.Time // when it was recorded; compared with the times of values
	ToldAt   time.Time // when a person was informed; zero for messages
	// TakesBack is the key of the statement that this one takes back, for its own Parameters; empty for most kinds.
	TakesBack string
	Reason    string
	// CalloutID is the id of the CriticalCallout row if another program wrote it, otherwise 0.
	CalloutID int64
	// Because is, for a suppression, the report and the key of the call on which it is based; for a notice of an unclear
	// value, the key of the Unclear statement.
	Because string
	NotSent bool // the notification service did not accept it, because its type was switched off
	// Void is set for a notice that was not sent before the type was switched on again. Its values were announced again
	// then, if they still had to be.
	Void bool
	// Record holds the documented fields of a call or an attempt.
	Record *Record
}

// Record is a callout or an attempt as stored in CriticalCallout. The metas are JSON.
type Record struct {
	UserID      int64           `json:"-"` // id of the lab user who called; 0 for doctors and support
	DoctorID    int64           `json:"-"`
	Performer   authn.Actor     `json:"-"` // the person who called
	Recipients  []string        `json:"recipients"`
	Comment     string          `json:"critical_callout_comment"`
	ValuesMeta  json.RawMessage `json:"critical_values_meta"`
	CalloutMeta json.RawMessage `json:"critical_callout_meta"`
}

// about returns the statement's parameter with this identity; nil if there is none.
func (s *Statement) about(k Key) *Parameter {
	for i := range s.Parameters {
		if s.Parameters[i].Key() == k {
			return &s.Parameters[i]
		}
	}
	return nil
}

// says reports whether the statement has this value of this parameter. A report may have two values of one parameter.
func (s *Statement) says(p *Parameter) bool {
	for i := range s.Parameters {
		if s.Parameters[i].Key() == p.Key() && s.Parameters[i].Same(p) {
			return true
		}
	}
	return false
}

// Ledger holds the statements about a report, the earliest first.
type Ledger []Statement

// takenBack reports whether a parameter of the statement with this key was taken back.
func (l Ledger) takenBack(key string, k Key) bool {
	for i := range l {
		if l[i].TakesBack == key && l[i].about(k) != nil {
			return true
		}
	}
	return false
}

// last returns the newest statement about a value of the parameter, taken back or not; nil if there is none.
func (l Ledger) last(k Key) *Statement {
	for i := len(l) - 1; i >= 0; i-- {
		if l[i].Kind.aboutValue() && l[i].about(k) != nil {
			return &l[i]
		}
	}
	return nil
}

// count returns the number of statements of a kind, from which the kind's next key is derived.
func (l Ledger) count(kind Kind) int {
	n := 0
	for i := range l {
		if l[i].Kind == kind {
			n++
		}
	}
	return n
}

// open returns the newest statement of a kind, unless a later statement takes it back; nil otherwise.
func (l Ledger) open(kind Kind) *Statement {
	for i := len(l) - 1; i >= 0; i-- {
		if l[i].Kind != kind {
			continue
		}
		key := l[i].Key
		if !slices.ContainsFunc(l[i+1:], func(s Statement) bool { return s.TakesBack == key }) {
			return &l[i]
		}
		return nil
	}
	return nil
}

// openAll returns the statements of a kind that have not been taken back, the earliest first.
func (l Ledger) openAll(kind Kind) (open []Statement) {
	for i := range l {
		key := l[i].Key
		if l[i].Kind == kind && !slices.ContainsFunc(l[i+1:], func(s Statement) bool { return s.TakesBack == key }) {
			open = append(open, l[i])
		}
	}
	return open
}

// StillCorrected returns the parameters of a correction about which no notice, call or attempt was recorded since for
// the same patient.
func (l Ledger) StillCorrected(key string) (values []Parameter) {
	for i := range l {
		if l[i].Key != key {
			continue
		}
		for _, p := range l[i].Parameters {
			said := func(s Statement) bool {
				return s.Kind.aboutValue() && s.PatientID == l[i].PatientID && s.about(p.Key()) != nil
			}
			if !slices.ContainsFunc(l[i+1:], said) {
				values = append(values, p)
			}
		}
	}
	return values
}

// LastSuppressed returns the newest suppression if it holds; nil otherwise.
func (l Ledger) LastSuppressed() *Statement { return l.open(Suppression) }

// NewestAttempt returns the newest attempt; nil if there is none.
func (l Ledger) NewestAttempt() *Statement {
	for i := len(l) - 1; i >= 0; i-- {
		if l[i].Kind == Attempt {
			return &l[i]
		}
	}
	return nil
}

// Suppressed returns the critical values whose call is currently suppressed, and the suppression; nil if there is none.
func (l Ledger) Suppressed(critical []Parameter) ([]Parameter, *Statement) {
	s := l.open(Suppression)
	if s == nil {
		return nil, nil
	}
	var values []Parameter
	for i := range critical {
		said := s.about(critical[i].Key())
		if said == nil || !said.Same(&critical[i]) {
			continue
		}
		if last := l.last(critical[i].Key()); last != nil && last.SaidAt.After(s.SaidAt) {
			continue
		}
		values = append(values, critical[i])
	}
	return values, s
}
