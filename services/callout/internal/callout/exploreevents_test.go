package callout

import (
	"slices"
	"strconv"
	"time"
)

// step is a possible event. do changes the world and reports whether the event was applicable.
type step struct {
	name string
	do   func(w *world) (Event, bool)
}

func named(f func(w *world) bool) func(w *world) (Event, bool) {
	return func(w *world) (Event, bool) { return Event{Named: true}, f(w) }
}

// enter saves a value and evaluates the report.
func enter(key int, value string) step {
	name := [2]string{"potassium", "sodium"}[key] + " is " + strconv.Quote(value)
	return step{name, named(func(w *world) bool { return w.set(key, value) })}
}

func (w *world) set(key int, value string) bool {
	if w.values[key] == value {
		return false
	}
	if !equal(w.called[key], value) {
		w.called[key] = ""
	}
	w.values[key], w.changedAt[key] = value, w.now
	return true
}

// move gives the report to the other patient, whose bill has another clinic and doctor.
func (w *world) move() bool {
	if w.merged {
		return false
	}
	w.patient, w.audience = 3-w.patient, int(2-w.patient)
	w.called, w.said = [2]string{}, [2]bool{}
	return true
}

func alphabet() []step {
	return []step{
		enter(potassium, "5"), enter(potassium, "7.1"), enter(potassium, "7.10"), enter(potassium, "7.9"),
		enter(potassium, "2.1"), enter(potassium, "Haemolysed"), enter(potassium, removed),
		enter(sodium, "140"), enter(sodium, "118"),
		{"potassium is blank, and a loop checks at once", func(w *world) (Event, bool) {
			ok := w.criticality(potassium) < 2 && !w.delayed && !w.owesCorrection()
			w.values[potassium], w.changedAt[potassium], w.unjudged = "", w.now, true
			return Event{}, ok
		}},
		{"three minutes pass, and the sweeper checks", func(w *world) (Event, bool) {
			ok := w.unjudged
			w.now += 3 * time.Minute
			w.settleBlank()
			return Event{}, ok
		}},
		{"called", func(w *world) (Event, bool) { return w.call(NewCall{ReadBack: true, Reached: true}) }},
		{"called again, forced", func(w *world) (Event, bool) {
			return w.call(NewCall{Force: true, ReadBack: true, Reached: true})
		}},
		{"attempt that was heard", func(w *world) (Event, bool) { return w.call(NewCall{Unheard: true, Reached: true}) }},
		{"attempt that reached no one", func(w *world) (Event, bool) { return w.call(NewCall{Draft: true}) }},
		{"another program records a call", named(func(w *world) bool {
			if w.foreigners > 0 || w.dismissed {
				return false
			}
			w.foreigners++
			w.foreign = []Foreign{{ID: 77, PatientID: w.patient, Audience: audiences[w.audience], ReadBack: true, CreatedAt: w.at()}}
			w.hear(w.audience)
			return true
		})},
		{"the deadline passes", func(w *world) (Event, bool) {
			if w.wait == nil {
				return Event{}, false
			}
			due := w.wait.DueAt
			if due.IsZero() {
				due = w.wait.RemindAt
			}
			if due.IsZero() {
				return Event{}, false
			}
			w.now = max(w.now, due.Sub(origin)) + 3*time.Minute
			w.settleBlank()
			return Event{}, true
		}},
		{"the limits change", named(func(w *world) bool { w.limits = 1 - w.limits; return true })},
		{"dismissed, or no longer dismissed", named(func(w *world) bool {
			w.dismissed = !w.dismissed
			w.called = [2]string{}
			return true
		})},
		{"moved to another patient, or back", named((*world).move)},
		{"moved to another patient, with this patient's values", named(func(w *world) bool {
			return w.move() && w.set(potassium, "5") && w.set(sodium, "118")
		})},
		{"another program sets the state to normal, or to waiting", named(func(w *world) bool {
			w.status = map[bool]Status{true: Normal, false: Pending}[w.status.Open()]
			w.elsewhere = w.status.Open()
			return true
		})},
		{"the patient's records are merged", named(func(w *world) bool {
			if w.patient == 2 {
				return false
			}
			w.patient, w.merged = 2, true
			return true
		})},
		{"the bill gets another clinic and doctor", named(func(w *world) bool { w.audience = 1 - w.audience; return true })},
		{"the type is switched", func(w *world) (Event, bool) {
			w.typeOff = !w.typeOff
			marked := w.wait != nil && w.wait.NoticesOff || slices.ContainsFunc(w.ledger, func(s Statement) bool { return s.NotSent })
			return Event{NoticesBack: !w.typeOff && marked}, true
		}},
		{"notices are delayed, or go out", func(w *world) (Event, bool) { w.delayed = !w.delayed; return Event{}, true }},
		{"the newest notice is read", func(w *world) (Event, bool) { return Event{}, w.read() }},
		{"the justifying call is corrected", named(func(w *world) bool {
			ok := w.earlier == 1
			w.earlier = 2
			return ok
		})},
	}
}

// person returns the patient's identity, which is unchanged by a merge of records.
func (w *world) person() int64 {
	if w.merged {
		return 1
	}
	return w.patient
}

func (w *world) at() time.Time { return origin.Add(w.now) }

// owesCorrection reports whether a correction was not sent. It may be sent while the value is blank for another reason.
func (w *world) owesCorrection() bool {
	return slices.ContainsFunc(w.ledger, func(s Statement) bool {
		return s.NotSent && (s.Kind == Correction || s.Kind == Withdrawal)
	})
}

// settleBlank models the passing of three minutes, or a named evaluation: blank and unreadable values become final.
func (w *world) settleBlank() {
	w.unjudged = false
	for key := range w.values {
		if c := w.criticality(key); c >= 2 && w.changedAt[key] > w.calledAt[key] {
			w.called[key] = ""
		}
	}
}

func (w *world) call(c NewCall) (Event, bool) {
	c.SaidAt = w.at()
	return Event{Call: &c}, !w.dismissed
}

// hear records that an audience was told the critical values or, if there are none, the values of the wait.
func (w *world) hear(audience int) {
	for key, value := range w.values {
		c := w.criticality(key)
		if c == 0 {
			continue
		}
		if c == 2 || c == 3 {
			value = ""
			if w.wait != nil {
				for i := range w.wait.Parameters {
					if w.wait.Parameters[i].Index == key {
						value = w.wait.Parameters[i].RawValue
					}
				}
			}
		}
		if value != "" {
			w.called[key], w.calledAt[key], w.said[key] = value, w.now, true
			w.know(told{audience: audience, patient: w.person(), key: key, value: value, at: w.now})
		}
	}
}

// know records what the audience was told about the parameter, unless it was told something newer.
func (w *world) know(k told) {
	newer := func(o told) bool {
		return o.notice == "" && o.audience == k.audience && o.patient == k.patient && o.key == k.key && o.at > k.at
	}
	if slices.ContainsFunc(w.knowledge, newer) {
		return
	}
	w.knowledge = slices.DeleteFunc(w.knowledge, func(o told) bool {
		return o.audience == k.audience && o.patient == k.patient && o.key == k.key && (k.notice == "" || o.notice != "" && o.value == k.value)
	})
	w.knowledge = append(w.knowledge, k)
}

func (w *world) read() bool {
	for i := len(w.notices) - 1; i >= 0; i-- {
		n := &w.notices[i]
		if n.read || n.over {
			continue
		}
		n.read = true
		for key, v := range n.values {
			if v != "" {
				w.know(told{audience: n.audience, patient: n.patient, key: key, value: v, notice: n.key, at: n.at})
			}
		}
		return true
	}
	return false
}
