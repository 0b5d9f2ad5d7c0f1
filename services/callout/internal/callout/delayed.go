package callout

import (
	"fmt"
	"slices"
)

// A message may be delivered long after its decision. The functions in this file check whether it is still valid, so
// that outdated messages are not sent.

// Still reports whether a notice, an escalation or a reminder still has to be sent: the report waits and the statement
// is not outdated. A notice is outdated when each of its values was called, taken back, or announced again to the same
// audience; an escalation or a reminder, when a call, an escalation or a reminder followed. key is the key of the
// statement. wait is nil if the report does not wait.
func Still(l Ledger, wait *Episode, key string) bool {
	if wait == nil {
		return false
	}
	for i := range l {
		if l[i].Key == key {
			return l[i].still(l[i+1:], l)
		}
	}
	return false
}

// still reports whether the statement is not outdated. since holds the statements after it; all is the whole ledger.
func (s *Statement) still(since, all Ledger) bool {
	if s.Kind != Notice {
		for i := range since {
			if since[i].Kind == Escalation || since[i].Kind == Reminder || since[i].Kind == Call {
				return false
			}
		}
		return true
	}
	for i := range s.Parameters {
		k := s.Parameters[i].Key()
		if !all.takenBack(s.Key, k) && !since.replaces(s, k) {
			return true
		}
	}
	return len(s.Parameters) == 0
}

// replaces reports whether l has a call about the parameter, or a notice about it to the audience of s. l holds the
// statements after s.
func (l Ledger) replaces(s *Statement, k Key) bool {
	for i := range l {
		o := &l[i]
		if o.about(k) != nil && (o.Kind == Call || o.Kind == Notice && o.Audience.same(s.Audience)) {
			return true
		}
	}
	return false
}

// StillUnclear reports whether the notice about an unclear value still has to be sent. key is the key of its statement.
func StillUnclear(l Ledger, key string) bool {
	for i := range l {
		if l[i].Key != key {
			continue
		}
		because := l[i].Because
		return !slices.ContainsFunc(l[i+1:], func(s Statement) bool { return s.TakesBack == because })
	}
	return false
}

// StillWrong reports whether a correction still has to be sent to an audience. It need not be sent if the audience was
// informed since that all values of the statement are critical. key is the key of the correction.
func StillWrong(l Ledger, key string, a Audience) bool {
	for i := range l {
		if l[i].Key != key {
			continue
		}
		for j := range l[i].Parameters {
			if !saidSince(l[i+1:], l[i].Parameters[j].Key(), a, l[i].PatientID) {
				return true
			}
		}
		return false
	}
	return true
}

// saidSince reports whether a statement in l, not taken back, informs the audience that the patient's parameter is
// critical.
func saidSince(l Ledger, k Key, a Audience, patient int64) bool {
	for i := range l {
		s := &l[i]
		informs := s.Kind == Notice || s.Heard && s.Kind.aboutValue()
		if informs && s.about(k) != nil && s.PatientID == patient && s.Audience.reached(a) && !l.takenBack(s.Key, k) {
			return true
		}
	}
	return false
}

// resend sends the messages again that the notification service did not accept while the laboratory had the type
// switched off, unless they are outdated. Critical values of a wait are announced again instead.
func (x *decider) resend() {
	if !x.e.NoticesBack {
		return
	}
	x.d.NoticesBack = true
	before := len(x.d.Messages)
	var told []Audience
	for i := range x.f.Ledger {
		s := &x.f.Ledger[i]
		switch {
		case !s.NotSent:
		case s.Kind == Correction || s.Kind == Withdrawal:
			told = x.sendCorrection(s, told)
		case s.Kind == UnclearNotice && StillUnclear(x.ledger, s.Key):
			x.send(Message{Kind: TellUnclear, Key: s.Key})
		case s.Kind == Unconfirmed && x.stillUnconfirmed(s):
			x.send(Message{Kind: TellUnconfirmed, Key: s.Key})
		}
	}
	if len(x.d.Messages) > before {
		x.log("A notification that was not sent before is sent again", LogMeta{Method: "notification"})
	}
}

// stillUnconfirmed reports whether the rerun values of the statement still wait for confirmation.
func (x *decider) stillUnconfirmed(s *Statement) bool {
	v := x.f.Unconfirmed
	return v != nil && s.Key == unconfirmedKey(v) && len(v.Critical) > 0 && !x.gone()
}

// unconfirmedKey returns the key of the statement about unconfirmed rerun values.
func unconfirmedKey(v *RerunValues) string { return fmt.Sprintf("unconfirmed:%d", v.AsOf) }
