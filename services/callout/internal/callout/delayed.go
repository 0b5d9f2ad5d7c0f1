package callout

import "slices"

// A message may be delivered long after its decision. It is not sent when it is no longer true.

// Still reports whether a notice, an escalation or a reminder is to be sent: the report waits, no value that it is
// about was called or taken back since, and no newer one replaces it. key is the key of its statement.
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

// still reports whether the statement is still news after the statements in since. all is the whole ledger.
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

// replaces reports whether the parameter was called since a notice, or its audience notified of it again.
func (l Ledger) replaces(s *Statement, k Key) bool {
	for i := range l {
		o := &l[i]
		if o.about(k) != nil && (o.Kind == Call || o.Kind == Notice && o.Audience.same(s.Audience)) {
			return true
		}
	}
	return false
}

// StillUnclear reports whether the announcement of an unclear value is to be sent. key is the key of the announcement.
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

// StillWrong reports whether a correction is to be sent to an audience: the audience was not informed since that the
// value is critical. key is the key of the correction.
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

// saidSince reports whether a statement of l that holds informs the audience that the parameter of the patient is
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
