package callout

import (
	"fmt"
	"slices"
	"time"
)

// deadlines escalates an overdue report, reminds after the last escalation, and brings the deadline forward when the
// settings demand it.
func (x *decider) deadlines() {
	if x.d.Wait == nil {
		return
	}
	w := *x.d.Wait
	pace := x.f.Settings.Pace
	if !w.Started() {
		w = w.Start(pace)
	}
	w = x.earlier(w)
	switch {
	case w.Overdue(x.now):
		w = w.Raise(x.now, pace)
		x.escalate(&w)
		if w.Exhausted() {
			x.d.Counts.Exhausted++
		}
	case w.Exhausted() && x.reminds(&w):
		x.remind(&w)
	}
	w.RemindAt = x.remindAt(&w)
	if w.DueAt.Equal(x.d.Wait.DueAt) && w.RemindAt.Equal(x.d.Wait.RemindAt) && w.Level == x.d.Wait.Level {
		return
	}
	if !w.DueAt.Equal(x.d.Wait.DueAt) {
		x.d.Wake = true
	}
	x.d.Wait = &w
	if x.d.WaitChange == WaitUnchanged {
		x.d.WaitChange = WaitChanged
	}
}

// earlier brings the next deadline forward if the laboratory's escalation time was shortened. It sets a new deadline if
// the maximum number of escalations was raised. A deadline never moves later.
func (x *decider) earlier(w Episode) Episode {
	pace := x.f.Settings.Pace
	if w.Level >= pace.Most {
		return w
	}
	from := w.DetectedAt
	if last := x.lastRaised(&w); last != nil {
		from = last.SaidAt
	}
	if due := fullSecond(from.Add(pace.After)); w.DueAt.IsZero() || due.Before(w.DueAt) {
		w.DueAt = due
	}
	return w
}

// lastRaised returns the statement from which the next deadline of the run counts: its last escalation, or the notice
// that began another run. It returns nil if the deadline counts from the detection.
func (x *decider) lastRaised(w *Episode) (from *Statement) {
	for i := len(x.ledger) - 1; i >= 0; i-- {
		switch s := &x.ledger[i]; {
		case s.SaidAt.Before(w.DetectedAt): // the statement belongs to an earlier wait
		case s.Kind == Escalation && w.Level > 0:
			return s
		case s.Kind == Escalation:
			return from
		case s.Kind == Notice && w.Level == 0:
			from = s
		}
	}
	return nil
}

// escalate notifies the laboratory that no one has called.
func (x *decider) escalate(w *Episode) {
	x.d.Escalated = w.Level
	x.say(Statement{Kind: Escalation, Parameters: w.Parameters})
	key := x.ledger[len(x.ledger)-1].Key
	x.send(Message{Kind: Escalate, Key: key, Level: w.Level})
	x.log(fmt.Sprintf("Critical callout is overdue: escalation %d", w.Level),
		LogMeta{Method: "notification", Escalation: w.Level})
}

// reminds reports whether a reminder is due.
func (x *decider) reminds(w *Episode) bool {
	at := x.remindAt(w)
	return !at.IsZero() && !x.now.Before(at)
}

// remind repeats the last escalation.
func (x *decider) remind(w *Episode) {
	x.d.Escalated = w.Level
	x.say(Statement{Kind: Reminder, Parameters: w.Parameters})
	key := x.ledger[len(x.ledger)-1].Key
	x.send(Message{Kind: Escalate, Key: key, Level: w.Level})
	x.log("Critical callout is overdue: reminder", LogMeta{Method: "notification", Escalation: w.Level, Reminder: true})
}

// remindAt returns the time of the next reminder. It is zero before the last escalation and if reminders are off.
func (x *decider) remindAt(w *Episode) (at time.Time) {
	if !w.Exhausted() || x.f.Settings.RemindAfter <= 0 {
		return at
	}
	for i := len(x.ledger) - 1; i >= 0; i-- {
		if s := &x.ledger[i]; s.Kind == Escalation || s.Kind == Reminder {
			return fullSecond(s.SaidAt.Add(x.f.Settings.RemindAfter))
		}
	}
	if !w.RemindAt.IsZero() { // version 1.0.0 began the wait
		return w.RemindAt
	}
	return fullSecond(x.now.Add(x.f.Settings.RemindAfter))
}

// unclear records values that can no longer be compared with their limits, and values that can be compared again. It
// notifies the laboratory once of each recorded value that has been unclear for the escalation time.
func (x *decider) unclear() {
	found := x.f.Finding.Unclear
	if x.gone() {
		found = nil
	}
	fresh := slices.Clone(found)
	for _, open := range x.ledger.openAll(Unclear) {
		still := slices.ContainsFunc(open.Parameters, func(p Parameter) bool {
			return slices.ContainsFunc(found, func(q Parameter) bool { return p.Key() == q.Key() && p.RawValue == q.RawValue })
		})
		if !still {
			x.say(Statement{Kind: Clear, Parameters: open.Parameters, TakesBack: open.Key})
			continue
		}
		fresh = slices.DeleteFunc(fresh, func(q Parameter) bool { return open.says(&q) })
		x.announceUnclear(&open)
	}
	if len(fresh) > 0 {
		x.say(Statement{Kind: Unclear, Parameters: fresh})
		x.d.Counts.Unclear, x.d.Unclear = len(fresh), fresh
	}
}

func (x *decider) announceUnclear(open *Statement) {
	if x.now.Sub(open.SaidAt) < x.f.Settings.After {
		return
	}
	for i := range x.ledger {
		if x.ledger[i].Kind == UnclearNotice && x.ledger[i].Because == open.Key {
			return
		}
	}
	key := x.say(Statement{Kind: UnclearNotice, Parameters: open.Parameters, Because: open.Key}).Key
	x.send(Message{Kind: TellUnclear, Key: key})
	x.log("A value that cannot be compared with its critical limits was announced to the laboratory",
		LogMeta{Method: "notification"})
}

// unconfirmed notifies the laboratory of critical rerun values that have been unconfirmed for the escalation time, once
// for each AsOf.
func (x *decider) unconfirmed() {
	v := x.f.Unconfirmed
	if v == nil || x.now.Sub(v.ReceivedAt) < x.f.Settings.After {
		return
	}
	x.d.LookedAt = v.AsOf
	if len(v.Critical) == 0 || x.gone() {
		return
	}
	key := unconfirmedKey(v)
	for i := range x.ledger {
		if x.ledger[i].Key == key {
			return
		}
	}
	x.say(Statement{Key: key, Kind: Unconfirmed, Parameters: v.Critical})
	x.send(Message{Kind: TellUnconfirmed, Key: key})
	x.log("A critical rerun value that no one has confirmed was announced to the laboratory", LogMeta{Method: "notification"})
}
