package callout

import (
	"fmt"
	"slices"
	"strconv"
)

// untrue reports whether a value told earlier is no longer true. A value replaced by another critical value is not
// counted.
func (w *world) untrue(k *told) bool {
	if k.patient != w.person() || w.dismissed {
		return true
	}
	switch w.criticality(k.key) {
	case 0:
		return !equal(w.values[k.key], k.value)
	case 2:
		return w.values[k.key] != k.value && w.changedAt[k.key] > k.at
	case 3:
		return !w.unjudged && w.changedAt[k.key] > k.at
	}
	return false
}

// suppressible computes the repeat policy independently of the code under test.
func (w *world) suppressible(key int) bool {
	return w.earlier == 1 && key == potassium && !w.said[key] && w.audience == 0 && w.criticality(key) == 1 && (w.patient == 1 || w.merged) &&
		func() bool { n, _ := strconv.ParseFloat(w.values[key], 64); return n <= 7.2 }()
}

// violated returns the first violated invariant, or an empty string.
func (w *world) violated() string {
	open, critical, communicated := []int{}, 0, 0
	for key := range w.values {
		c := w.criticality(key)
		if c != 1 && c != -1 || w.dismissed {
			continue
		}
		critical++
		if w.called[key] != "" && equal(w.called[key], w.values[key]) {
			communicated++
			continue
		}
		open = append(open, key)
	}
	suppressed := len(open) > 0 && !slices.ContainsFunc(open, func(key int) bool { return !w.suppressible(key) })
	if suppressed && w.wait == nil {
		open = nil
	}
	switch {
	case len(open) > 0 && (w.wait == nil || w.wait.DueAt.IsZero() && w.wait.RemindAt.IsZero()):
		return "1: a critical value is not communicated and has no deadline and no reminder"
	case len(open) > 0 && !w.status.Open():
		return "1: a critical value is not communicated and the report does not wait: " + w.status.String()
	case len(open) == 0 && w.status.Open() && !w.waitsUnread():
		return "1: the report waits, and no value is critical, blank or unreadable: " + w.status.String()
	case w.wait == nil && w.status.Open():
		return "1: the report waits without a deadline"
	case critical > 0 && communicated == critical && w.status != Done && (w.wait == nil || !w.waitsUnread()):
		return "5: everything critical is communicated, and the report is " + w.status.String()
	case w.status == Done && critical > communicated:
		return "5: the report is done with a critical value that is not communicated"
	case w.status == Done && w.calls+w.foreigners == 0:
		return "7: the report is done without a call"
	}
	for _, key := range open {
		if !slices.ContainsFunc(w.wait.Parameters, func(p Parameter) bool { return p.Index == key && equal(p.RawValue, w.values[key]) }) {
			return "1: the wait does not have the value that is critical now"
		}
		if e := w.escalated[key]; w.wait.Exhausted() && e != "" && worse(w.values[key], e) {
			return "1: a value got worse after the last escalation, and no run began"
		}
	}
	for i := range w.knowledge {
		k := &w.knowledge[i]
		if w.untrue(k) && !k.informed && !w.delayed && !w.typeOff {
			return fmt.Sprintf("2: clinic %d knows %q, which is no longer true, and was not informed", 45+k.audience, k.value)
		}
	}
	for key := range w.values {
		if w.criticality(key) == 2 && !w.dismissed && !w.onBoard(key) {
			return "6: a value that cannot be judged is not on the board"
		}
	}
	return w.silentNotice(open)
}

// onBoard reports whether the board shows the unreadable value.
func (w *world) onBoard(key int) bool {
	return slices.ContainsFunc(w.ledger.openAll(Unclear), func(s Statement) bool {
		p := s.about(Key{66, key})
		return p != nil && p.RawValue == w.values[key]
	})
}

// silentNotice returns a violation if a critical value has no notice or only a withdrawn one.
func (w *world) silentNotice(open []int) string {
	for _, index := range open {
		if last := w.ledger.last(Key{66, index}); last == nil || last.Kind == Call || w.ledger.takenBack(last.Key, Key{66, index}) {
			return "1: a critical value is not communicated, and no notice was made"
		}
		key := w.ledger.last(Key{66, index}).Key
		if slices.ContainsFunc(w.notices, func(n sentNotice) bool { return n.key == key && n.over }) {
			return "1: the notice of a critical value is withdrawn"
		}
		if !w.delayed && !w.wait.NoticesOff && !w.wait.Adopted && !w.informed(index) {
			return "1: nothing about a critical value reached the clinic of the bill"
		}
	}
	return ""
}

// informed reports whether the clinic of the bill has a notice about the parameter, or was told its value.
func (w *world) informed(key int) bool {
	return slices.ContainsFunc(w.notices, func(n sentNotice) bool {
		return n.audience == w.audience && n.patient == w.person() && n.values[key] != "" && !n.over
	}) || slices.ContainsFunc(w.knowledge, func(k told) bool { return k.audience == w.audience && k.patient == w.person() && k.key == key })
}

func worse(a, b string) bool {
	x, _ := strconv.ParseFloat(a, 64)
	y, _ := strconv.ParseFloat(b, 64)
	if (x > 5) != (y > 5) {
		return true
	}
	return x > 5 && x > y || x < 5 && x < y
}

// waitsUnread reports whether a value of the wait is unreadable or blank.
func (w *world) waitsUnread() bool {
	for key := range w.values {
		if w.criticality(key) >= 2 {
			return true
		}
	}
	return false
}
