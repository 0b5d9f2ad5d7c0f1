package callout

// A message may go out long after it was decided. What stopped being true meanwhile is not sent.

// Still reports whether a notice, an escalation or a reminder is to be sent: the wait that it is about is open, and no
// newer escalation replaces it. Key is that of its statement.
func Still(l Ledger, wait *Episode, key string) bool {
	if wait == nil {
		return false
	}
	for i := range l {
		s := &l[i]
		if s.Key != key {
			continue
		}
		for j := i + 1; j < len(l); j++ {
			if s.Kind != Notice && (l[j].Kind == Escalation || l[j].Kind == Reminder) {
				return false
			}
		}
		return !s.SaidAt.Before(wait.DetectedAt)
	}
	return false
}

// StillWrong reports whether a correction is to be sent to an audience: it was not told since that the value is critical.
// Key is that of the correction.
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

func saidSince(l Ledger, k Key, a Audience, patient int64) bool {
	for i := range l {
		if (l[i].Kind == Notice || l[i].Heard && l[i].Kind.aboutValue()) && l[i].about(k) != nil && l[i].PatientID == patient && l[i].Audience.same(a) && !l.takenBack(l[i].Key, k) {
			return true
		}
	}
	return false
}
