package callout

import (
	"fmt"
	"slices"
)

// takeBack takes back statements that are no longer true and informs their audiences once.
func (x *decider) takeBack() {
	var told []Audience // audiences informed in this decision
	var notices []Statement
	for i := range x.ledger {
		x.noteReturned(x.ledger[i])
		s := &x.ledger[i]
		switch {
		case s.Heard && (s.Kind == Call || s.Kind == Attempt):
			told = x.correct(*s, told)
		case s.Kind == Notice:
			notices = append(notices, *s)
		}
	}
	for i := range notices {
		x.withdraw(&notices[i], told)
	}
}

// correct takes back a statement that a person heard, and sends a correction. told are the audiences already informed
// by this decision; the result adds the new ones.
func (x *decider) correct(s Statement, told []Audience) []Audience {
	wrong, kind, reason := x.wrong(&s)
	if len(wrong) == 0 {
		return told
	}
	x.say(Statement{
		Kind: kind, Parameters: wrong, Audience: s.Audience, PatientID: s.PatientID, Heard: true,
		TakesBack: s.Key, Reason: reason,
	})
	x.d.Counts.Corrected++
	x.tookBack.any, x.tookBack.heard, x.tookBack.reason = true, true, reason
	return x.sendCorrection(&x.ledger[len(x.ledger)-1], told)
}

// sendCorrection sends a correction to its audience and, unless the report moved to another patient, the bill's present
// one, except audiences in told. The result is told with the new ones.
func (x *decider) sendCorrection(s *Statement, told []Audience) []Audience {
	audiences := []Audience{s.Audience}
	if s.Reason != reasonMoved && !s.Audience.same(x.f.Audience) {
		audiences = append(audiences, x.f.Audience)
	}
	for _, a := range audiences {
		a, ok := a.without(told...)
		if !ok {
			continue
		}
		x.send(Message{Kind: Correct, Key: s.Key, Audience: a, Quiet: len(told) > 0})
		told = append(told, a)
	}
	return told
}

// withdraw takes back a notice. Receivers who read it are informed, except audiences in told. Notices taken back in one
// decision share a key, so that a recipient of several is informed once.
func (x *decider) withdraw(s *Statement, told []Audience) {
	wrong, kind, reason := x.wrong(s)
	if len(wrong) == 0 {
		return
	}
	x.say(Statement{
		Kind: kind, Parameters: wrong, Audience: s.Audience, PatientID: s.PatientID, TakesBack: s.Key, Reason: reason,
	})
	if !x.tookBack.any {
		x.tookBack.any, x.tookBack.reason = true, reason
	}
	if x.withdrawn.key == "" {
		x.withdrawn.key, x.withdrawn.first = x.ledger[len(x.ledger)-1].Key, s.Audience
	}
	m := Message{Kind: Withdraw, Notice: s.Key, Key: x.withdrawn.key}
	for i := range s.Parameters {
		m.Partly = m.Partly || !x.ledger.takenBack(s.Key, s.Parameters[i].Key())
	}
	audiences := []Audience{s.Audience}
	if reason != reasonMoved && !s.Audience.same(x.f.Audience) {
		audiences = append(audiences, x.f.Audience)
	}
	for _, a := range audiences {
		others := slices.Clone(told)
		for _, to := range m.Tell {
			others = append(others, to.Audience)
		}
		if rest, ok := a.without(others...); ok {
			m.Tell = append(m.Tell, Told{rest, len(told) > 0 || !a.same(x.withdrawn.first)})
		}
	}
	x.send(m)
}

// Reasons for taking back a statement.
const (
	reasonValue      = "not_critical"
	reasonBlank      = "blank"
	reasonUnreadable = "unreadable"
	reasonDismissed  = "dismissed"
	reasonMoved      = "moved"
	reasonLimits     = "limits"
	reasonElsewhere  = "state"
)

// wrong returns the parameters of a statement that are no longer true and not taken back yet. It omits and records
// values that only changed limits make harmless. kind and reason apply to the first returned parameter.
func (x *decider) wrong(s *Statement) (wrong []Parameter, kind Kind, reason string) {
	for i := range s.Parameters {
		p := &s.Parameters[i]
		if x.ledger.takenBack(s.Key, p.Key()) {
			continue
		}
		why := x.why(s, p)
		if why == "" {
			continue
		}
		if why == reasonLimits {
			x.noteLimits(s, p)
			continue
		}
		if reason == "" {
			kind, reason = Withdrawal, why
			if why == reasonValue {
				kind = Correction
			}
		}
		wrong = append(wrong, *p)
	}
	return wrong, kind, reason
}

// why returns the reason why a stated value is no longer true. It is empty if the value is true, if a blank or
// unreadable one is not final yet, and if another critical value replaced it, because that value is announced.
func (x *decider) why(s *Statement, p *Parameter) string {
	switch {
	case x.moved(s):
		return reasonMoved
	case x.gone():
		return reasonDismissed
	}
	state, now := x.f.Finding.at(p.Key())
	switch state {
	case IsCritical:
		return ""
	case IsClear:
		if now.Same(p) || x.heardSince(s, &now.Parameter) {
			return reasonLimits
		}
		return reasonValue
	case IsUnjudged:
		if now.Same(p) {
			return reasonLimits
		}
	case IsUnclear:
		if now.Same(p) {
			return ""
		}
		return x.whenSettled(s, p, now, reasonUnreadable)
	}
	return x.whenSettled(s, p, now, reasonBlank)
}

// whenSettled returns reason if the value has been blank or unreadable for the settle time, otherwise "". A statement
// is not taken back if it was made, or its audience was told the value, after the value became blank.
func (x *decider) whenSettled(s *Statement, p *Parameter, now *Judged, reason string) string {
	if !x.changedSaid(s, p, now) || x.calledAfter(s, p, now) {
		return ""
	}
	if x.settled(now) {
		return reason
	}
	x.d.Early = true
	return ""
}

// changedSaid reports whether the value reached its present state after the statement was made. now is nil if the value
// was removed.
func (x *decider) changedSaid(s *Statement, p *Parameter, now *Judged) bool {
	if now == nil {
		return !x.absent(s, p)
	}
	return !now.At.Before(s.SaidAt)
}

// absent reports whether the value was removed before the statement was made and has not returned since.
func (x *decider) absent(s *Statement, p *Parameter) bool {
	return p.Absent && !x.ledger.takenBack(returned(s), p.Key())
}

// noteReturned records that a value removed before s is present again. If it is removed once more, s is taken back.
func (x *decider) noteReturned(s Statement) {
	var values []Parameter
	for i := range s.Parameters {
		p := &s.Parameters[i]
		if state, _ := x.f.Finding.at(p.Key()); state != IsMissing && x.absent(&s, p) {
			values = append(values, *p)
		}
	}
	if len(values) > 0 && s.Kind.aboutValue() && !x.moved(&s) {
		x.say(Statement{Kind: Clear, Parameters: values, TakesBack: returned(&s)})
	}
}

// returned returns the key of the Clear which records that values removed before s are present again.
func returned(s *Statement) string { return "absent:" + s.Key }

// calledAfter reports whether a person of the audience of s was told about the parameter after it reached its present
// state.
func (x *decider) calledAfter(s *Statement, p *Parameter, now *Judged) bool {
	for i := range x.ledger {
		o := &x.ledger[i]
		said := o.about(p.Key())
		if said == nil || !o.Heard || !o.Kind.aboutValue() || !o.Audience.same(s.Audience) {
			continue
		}
		if now != nil && !o.SaidAt.Before(now.At) || now == nil && x.absent(o, said) {
			return true
		}
	}
	return false
}

// heardSince reports whether a person of the audience of s was told the present value after s.
func (x *decider) heardSince(s *Statement, now *Parameter) bool {
	for i := len(x.ledger) - 1; i >= 0 && x.ledger[i].Key != s.Key; i-- {
		o := &x.ledger[i]
		if said := o.about(now.Key()); said != nil && o.Heard && o.Kind.aboutValue() && o.Audience.same(s.Audience) {
			return said.Same(now)
		}
	}
	return false
}

// noteLimits records, once per statement and parameter, that a stated value is not critical under today's limits. The
// value was right, so no one is informed. If the parameter becomes critical again, it is announced again.
func (x *decider) noteLimits(s *Statement, p *Parameter) {
	key := fmt.Sprintf("limits:%s:%d.%d", s.Key, p.TestID, p.Index)
	for i := range x.ledger {
		if x.ledger[i].Key == key {
			return
		}
	}
	x.say(Statement{Key: key, Kind: LimitsChanged, Parameters: []Parameter{*p}, Reason: reasonLimits})
	if s.Kind != Call {
		return
	}
	x.log("The limits of a called critical result changed: its value is not critical by them and stays called",
		LogMeta{Reason: reasonLimits})
}

// endReason returns why a wait ends without a statement being taken back.
func (x *decider) endReason() string {
	switch {
	case x.gone():
		return reasonDismissed
	case len(x.f.Wait.Parameters) == 0:
		return reasonElsewhere
	}
	for i := range x.f.Wait.Parameters {
		p := &x.f.Wait.Parameters[i]
		if state, now := x.f.Finding.at(p.Key()); state == IsClear && now.Same(p) {
			return reasonLimits
		}
	}
	return reasonValue
}

// logTakenBack writes one history entry for all statements that this decision takes back.
func (x *decider) logTakenBack() {
	if !x.tookBack.any {
		return
	}
	meta := LogMeta{Reason: x.tookBack.reason}
	if x.tookBack.heard {
		meta.Corrected, meta.Method, meta.Persons = true, "notification", x.persons()
		x.log("A called critical result was corrected: "+because[x.tookBack.reason], meta)
		return
	}
	meta.Withdrawn = true
	x.log("Critical result withdrawn before a callout: "+because[x.tookBack.reason], meta)
}

var because = map[string]string{
	reasonValue:      "its value is not critical any more",
	reasonBlank:      "its value was removed",
	reasonUnreadable: "its value cannot be read any more",
	reasonDismissed:  "the report was dismissed",
	reasonMoved:      "the report belongs to another patient",
	reasonLimits:     "its value is not critical by the changed limits",
	reasonElsewhere:  "its values are not critical any more",
}

// persons returns the names of the persons who heard values that this decision takes back.
func (x *decider) persons() (names []string) {
	for i := range x.d.Statements {
		s := &x.d.Statements[i]
		if s.TakesBack == "" {
			continue
		}
		for _, name := range s.Audience.Persons {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
