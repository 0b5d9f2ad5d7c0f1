package callout

import (
	"fmt"
	"slices"
	"time"
)

// rules is Decide or a mutant of it.
type rules func(f *Facts, e Event, now time.Time) Decision

// apply applies a decision as the store does and delivers its messages. It returns the violated invariant, or an empty
// string.
func (w *world) apply(d *Decision, e Event) string {
	for _, s := range d.Statements {
		if slices.ContainsFunc(w.ledger, func(o Statement) bool { return o.Key == s.Key }) {
			return "the statement " + s.Key + " is made twice"
		}
		w.ledger = append(w.ledger, s)
		for i := range s.Parameters {
			if s.Kind == Notice || s.Kind == Call || s.Kind == Attempt {
				w.said[s.Parameters[i].Index] = true
			}
			if s.Kind == Escalation || s.Kind == Reminder {
				w.escalated[s.Parameters[i].Index] = s.Parameters[i].RawValue
			}
		}
	}
	w.foreign = nil
	switch d.WaitChange {
	case WaitOpened, WaitRenewed:
		if d.Wait.Adopted && !w.elsewhere && (w.wait == nil || !w.wait.Adopted) {
			return "1: a wait counts as another program's, and its notice is not sent"
		}
		w.escalated = [2]string{}
		fallthrough
	case WaitChanged:
		e := *d.Wait
		w.wait = &e
	case WaitClosed:
		w.wait = nil
	}
	w.status = d.Status
	w.elsewhere = w.elsewhere && w.status.Open()
	if d.NoticesBack {
		w.noticesBack()
	}
	if d.Recorded != nil {
		w.recorded(d.Recorded)
	}
	w.queue = append(w.queue, d.Messages...)
	if w.delayed {
		return ""
	}
	return w.deliver()
}

func (w *world) recorded(s *Statement) {
	if s.Kind == Call {
		w.calls++
	}
	for i := range s.Parameters {
		p := &s.Parameters[i]
		if c := w.criticality(p.Index); s.Kind == Call && (c >= 2 || c != 0 && equal(w.values[p.Index], p.RawValue)) {
			w.called[p.Index], w.calledAt[p.Index] = p.RawValue, w.now
		}
		if s.Heard {
			w.know(told{audience: w.audience, patient: w.person(), key: p.Index, value: p.RawValue, at: w.now})
		}
	}
}

func audienceOf(a Audience) int {
	if a.OrgID == southClinic {
		return 1
	}
	return 0
}

// deliver delivers the messages, each after the check that the dispatcher makes. It returns the violated invariant, or
// an empty string.
func (w *world) deliver() string {
	queue := w.queue
	w.queue = nil
	for _, m := range queue {
		if m.Kind == Escalate && !Still(w.ledger, w.wait, m.Key) {
			continue
		}
		if slices.Contains(w.sent, m.Key) && (m.Kind == Announce || m.Kind == Escalate) {
			return "the message " + m.Key + " is sent twice"
		}
		if m.Kind != Withdraw {
			w.sent = append(w.sent, m.Key)
		}
		if wrong := w.hand(m); wrong != "" {
			return wrong
		}
	}
	return ""
}

// noticesBack removes the marks of unsent notices.
func (w *world) noticesBack() {
	w.ledger = slices.Clone(w.ledger) // other worlds share the ledger
	for i := range w.ledger {
		s := &w.ledger[i]
		s.NotSent, s.Void = false, s.Void || s.NotSent && s.Kind == Notice
	}
	if w.wait != nil {
		w.wait.NoticesOff = false
	}
}

// unsent records that the notification service did not store a notice.
func (w *world) unsent(key string) {
	w.ledger = slices.Clone(w.ledger) // other worlds share the ledger
	for i := range w.ledger {
		if w.ledger[i].Key == key {
			w.ledger[i].NotSent = true
		}
	}
}

// unsentCorrection does the same for a correction, which is found by the notice that it takes back, if there is one.
func (w *world) unsentCorrection(key, notice string) {
	for i := range w.ledger {
		if notice != "" && w.ledger[i].TakesBack == notice {
			key = w.ledger[i].Key
		}
	}
	w.unsent(key)
}

func (w *world) hand(m Message) string {
	switch m.Kind {
	case Announce:
		if !Still(w.ledger, w.wait, m.Key) {
			return ""
		}
		if w.typeOff {
			w.wait.NoticesOff = true
			w.unsent(m.Key)
			return ""
		}
		n := sentNotice{key: m.Key, patient: w.person(), at: w.now, audience: audienceOf(m.Audience)}
		for i := range w.ledger {
			if w.ledger[i].Key == m.Key {
				for _, p := range w.ledger[i].Parameters {
					n.values[p.Index] = p.RawValue
				}
			}
		}
		if n.values[0] == "" && n.values[1] == "" {
			return "the notice " + m.Key + " has no value"
		}
		w.notices = append(w.notices, n)
	case Withdraw:
		return w.withdraw(m)
	case Correct:
		return w.correct(m.Audience, m.Key, "")
	}
	return ""
}

func (w *world) withdraw(m Message) string {
	for i := range w.notices {
		n := &w.notices[i]
		if n.key != m.Notice || n.over {
			continue
		}
		if m.Called {
			return ""
		}
		if !n.read {
			n.over = !m.Partly
			for key := range n.values {
				if w.ledger.takenBack(n.key, Key{66, key}) {
					n.values[key] = ""
				}
			}
			return ""
		}
		for _, a := range m.Tell {
			if wrong := w.correct(a.Audience, m.Key, m.Notice); wrong != "" {
				return wrong
			}
		}
	}
	return ""
}

// correct informs an audience that a value was wrong. It returns a violation if no value was wrong, or if the audience
// was already informed.
func (w *world) correct(to Audience, key, notice string) string {
	if !StillWrong(w.ledger, key, to) {
		return ""
	}
	if w.typeOff {
		w.unsentCorrection(key, notice)
		return ""
	}
	audience := audienceOf(to)
	reason := false
	for i := range w.knowledge {
		k := &w.knowledge[i]
		untrue := w.untrue(k)
		reason = reason || untrue && (!k.informed || k.told == w.now)
		if k.audience == audience && untrue && !k.informed {
			k.informed, k.told = true, w.now
		}
	}
	if !reason {
		return fmt.Sprintf("3: clinic %d is told by %s that a value was wrong; none was, or it was told before", 45+audience, key)
	}
	return ""
}
