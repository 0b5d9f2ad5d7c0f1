package callout

import (
	"slices"
	"time"
)

// refusal returns why the event's call cannot be recorded, or Accepted if it can.
func (x *decider) refusal() Refusal {
	c := x.e.Call
	repeat := x.repeats()
	open := x.f.Report.Status.Open() && !x.gone()
	switch {
	case !repeat && !open && x.f.Report.Status == Done:
		return RefusedDone
	case !repeat && !open:
		return RefusedNothing
	}
	said, corrected := x.said(repeat)
	if len(said) == 0 && (repeat || x.f.Wait != nil && len(x.f.Wait.Parameters) > 0 || !x.f.Finding.Undecided) {
		return RefusedNothing
	}
	switch {
	case c.Draft:
		return Accepted
	case c.SaidAt.Before(x.f.EarliestCall(x.now)):
		return RefusedTooEarly
	case c.Told != nil && !tells(c.Told, said), c.Told == nil && !corrected && x.changedSince(said):
		return RefusedChanged
	}
	return Accepted
}

// newestWait returns the open wait, otherwise the last closed one; nil if the report never waited.
func (f *Facts) newestWait() *Episode {
	if f.Wait != nil {
		return f.Wait
	}
	return f.LastWait
}

// EarliestCall returns the earliest possible time of a call; zero if there is no bound. It is the minute of the
// detection, because callers state the minute of a call. If the report never waited or another program opened the wait,
// it is a day before the collection of the sample. A future collection date is ignored as a typing error, so that the
// call can be recorded.
func (f *Facts) EarliestCall(now time.Time) time.Time {
	const collectedWithin = 24 * time.Hour
	if w := f.newestWait(); w != nil && !w.Adopted {
		return w.DetectedAt.Truncate(time.Minute)
	}
	if f.Report.CollectedAt.IsZero() || f.Report.CollectedAt.After(now) {
		return time.Time{}
	}
	return f.Report.CollectedAt.Add(-collectedWithin)
}

// repeats reports whether the call repeats an earlier one: it is forced and complete, and the report was called, or a
// value was stated and the report does not wait, so that a person may have been informed.
func (x *decider) repeats() bool {
	c := x.e.Call
	return c.Force && !c.Draft && (x.f.Report.Status == Done || !x.f.Report.Status.Open() && len(x.known()) > 0)
}

// known returns the values of the newest notice, call or attempt about the present patient; nil if there is none.
func (x *decider) known() []Parameter {
	for i := len(x.ledger) - 1; i >= 0; i-- {
		if x.ledger[i].Kind.aboutValue() && !x.moved(&x.ledger[i]) {
			return x.ledger[i].Parameters
		}
	}
	return nil
}

// said returns the values that the call states. For a first call, these are the values of the wait. For a repeated
// call, these are the values that are critical now or, if there are none, the last stated values, which the call
// corrects.
func (x *decider) said(repeat bool) (said []Parameter, corrected bool) {
	if !repeat {
		return x.f.Finding.Shown(x.f.Wait), false
	}
	if len(x.f.Finding.Critical) > 0 && !x.gone() {
		return x.f.Finding.Critical, false
	}
	return x.known(), true
}

// changedSince reports whether the values changed after the call was made. Callers state the minute of the call, so a
// change within a minute counts only if the value differs from the last one stated.
func (x *decider) changedSince(said []Parameter) bool {
	at := x.e.Call.SaidAt
	changed := time.Time{}
	for i := range said {
		if _, now := x.f.Finding.at(said[i].Key()); now != nil && now.At.After(changed) {
			changed = now.At
		}
	}
	if changed.After(at.Add(time.Minute)) {
		return true
	}
	return changed.After(at) && slices.ContainsFunc(said, func(p Parameter) bool {
		last := x.ledger.last(p.Key())
		return last != nil && !last.about(p.Key()).Same(&p)
	})
}

// tells reports whether the caller stated exactly the values that the call has to state.
func tells(told []ToldValue, said []Parameter) bool {
	for i := range said {
		if !slices.Contains(told, ToldValue{said[i].FormatID, said[i].RawValue}) {
			return false
		}
	}
	return len(told) == len(said)
}

// record adds the call or the attempt to the ledger.
func (x *decider) record() {
	c, repeat := x.e.Call, x.repeats()
	said, corrected := x.said(repeat)
	s := Statement{
		Kind: Call, Parameters: said, Heard: true, ReadBack: c.ReadBack, ToldAt: c.SaidAt,
		Audience: Audience{OrgID: x.f.Audience.OrgID, DoctorID: x.f.Audience.DoctorID, Persons: c.Persons},
	}
	switch {
	case corrected:
		s.Kind, s.Heard = CorrectionCalled, false
	case c.Draft, c.Unheard && (!repeat || len(x.uncommunicated(said)) > 0):
		s.Kind, s.Heard, s.Parameters = Attempt, c.Reached, x.uncommunicated(said)
	}
	x.d.Said, x.d.Corrected, x.d.Repeated, x.d.Before = said, corrected, repeat, x.f.newestWait()
	x.d.Recorded = x.say(s)
	recorded := *x.d.Recorded // a copy, because later statements may move the slice
	x.d.Recorded = &recorded
}

// uncommunicated returns the values that have not been communicated by a completed call.
func (x *decider) uncommunicated(said []Parameter) []Parameter {
	return slices.DeleteFunc(slices.Clone(said), func(p Parameter) bool { return x.communicated(&p) })
}

// Shown returns the values that the list shows for a waiting report and that a call has to state: the present critical
// values, and values of the wait that may still be critical. If there are none, the report was not judged since the
// last change, and all values of the wait are returned.
func (f *Finding) Shown(wait *Episode) []Parameter {
	shown := slices.Clone(f.Critical)
	if wait == nil {
		return shown
	}
	for i := range wait.Parameters {
		p := &wait.Parameters[i]
		state, now := f.at(p.Key())
		if state == IsUnclear || state == IsBlank || state == IsMissing || state == IsUnjudged && now.Same(p) {
			q := *p
			q.Absent = state == IsMissing
			shown = append(shown, q)
		}
	}
	if len(shown) == 0 {
		return wait.Parameters
	}
	return shown
}
