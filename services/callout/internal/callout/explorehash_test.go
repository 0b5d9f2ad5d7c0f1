package callout

import (
	"hash/maphash"
	"slices"
)

// hash returns the same number for worlds with the same possible futures. It ignores identifiers, absolute times, and
// statements that were taken back, except the last one.
func (w *world) hash(seed maphash.Seed) uint64 {
	b := make([]byte, 0, 1024)
	flag := func(values ...bool) { b = appendFlags(b, values...) }
	text := func(values ...string) {
		for _, v := range values {
			b = append(append(b, v...), 0)
		}
	}
	b = append(b, byte(w.limits), byte(w.patient), byte(w.audience), byte(w.earlier), byte(w.status), byte(w.foreigners))
	text(w.values[0], w.values[1], canonical(w.called[0]), canonical(w.called[1]), canonical(w.escalated[0]), canonical(w.escalated[1]))
	flag(w.merged, w.dismissed, w.typeOff, w.delayed, w.said[0], w.said[1], w.calls > 0, w.unjudged, w.elsewhere,
		w.now-w.changedAt[potassium] >= settled, w.ledger.open(Unclear) != nil, w.ledger.open(Suppression) != nil, w.calledHere())
	if u := w.ledger.open(Unclear); u != nil {
		flag(slices.ContainsFunc(w.ledger, func(s Statement) bool { return s.Kind == UnclearNotice && s.Because == u.Key }))
	}
	if w.wait != nil {
		b = append(b, byte(w.wait.Level))
		flag(w.wait.DueAt.IsZero(), w.wait.RemindAt.IsZero(), w.wait.Adopted, w.wait.NoticesOff)
		for i := range w.wait.Parameters {
			b = append(b, byte(w.wait.Parameters[i].Index))
			text(canonical(w.wait.Parameters[i].RawValue))
		}
	}
	for key := range w.values {
		b = w.ledgerOf(b, key)
	}
	b = sorted(b, len(w.knowledge), func(part []byte, i int) []byte {
		k := &w.knowledge[i]
		part = append(part, byte(k.audience), byte(k.patient), byte(k.key))
		part = appendFlags(part, k.informed, k.notice != "", w.changedAt[k.key] > k.at)
		return append(part, canonical(k.value)...)
	})
	for i := range w.queue {
		m := &w.queue[i]
		b = append(b, byte(m.Kind), byte(m.Audience.OrgID), byte(len(m.Tell)))
		flag(m.Called, m.Partly)
	}
	return maphash.Bytes(seed, b)
}

func appendFlags(b []byte, values ...bool) []byte {
	for _, v := range values {
		if v {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	return b
}

// sorted appends n parts in sorted order, without duplicates.
func sorted(b []byte, n int, appendPart func(part []byte, i int) []byte) []byte {
	parts := make([]string, n)
	scratch := make([]byte, 0, 64)
	for i := range parts {
		scratch = appendPart(scratch[:0], i)
		parts[i] = string(scratch)
	}
	slices.Sort(parts)
	for _, p := range slices.Compact(parts) {
		b = append(append(b, p...), 0)
	}
	return append(b, 0xff)
}

// canonical returns the same text for equal numbers.
func canonical(v string) string {
	if v == "7.10" {
		return "7.1"
	}
	return v
}

func (w *world) calledHere() bool {
	return slices.ContainsFunc(w.ledger, func(s Statement) bool {
		return s.Kind == Call && (s.PatientID == w.patient || w.merged)
	})
}

// ledgerOf appends the statements about one parameter.
func (w *world) ledgerOf(b []byte, key int) []byte {
	k := Key{66, key}
	one := func(part []byte, s *Statement) []byte {
		sent, read, over := false, false, false
		for i := range w.notices {
			if w.notices[i].key == s.Key {
				sent, read, over = true, w.notices[i].read, w.notices[i].over
			}
		}
		since := w.wait != nil && !s.SaidAt.Before(w.wait.DetectedAt)
		part = append(append(part, s.Kind...), 0, byte(s.PatientID), byte(s.Audience.OrgID), byte(len(s.Parameters)))
		absent := s.about(k).Absent && !w.ledger.takenBack(returned(s), k)
		part = appendFlags(part, absent, s.Heard, w.ledger.takenBack(s.Key, k), s.SaidAt.Before(origin.Add(w.changedAt[key])), sent, read, over, since, s.NotSent, s.Void)
		return append(part, canonical(s.about(k).RawValue)...)
	}
	if last := w.ledger.last(k); last != nil {
		b = one(b, last)
	}
	holding := []*Statement{}
	for i := range w.ledger {
		s := &w.ledger[i]
		if s.about(k) != nil && (s.Kind.aboutValue() && (s.Heard || s.Kind == Notice) && !w.ledger.takenBack(s.Key, k) || s.Kind == LimitsChanged || s.NotSent) {
			holding = append(holding, s)
		}
	}
	b = sorted(b, len(holding), func(part []byte, i int) []byte { return one(part, holding[i]) })
	for i := len(w.ledger) - 1; i >= 0; i-- {
		s := &w.ledger[i]
		if (s.Kind == Notice || s.Kind == Escalation || s.Kind == Reminder || s.Kind == Attempt) && s.about(k) != nil {
			return append(append(b, canonical(s.about(k).RawValue)...), 0xfe)
		}
	}
	return append(b, 0xfe)
}
