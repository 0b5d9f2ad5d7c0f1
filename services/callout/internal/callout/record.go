package callout

import (
	"slices"
	"time"
)

// refusal says why the call of the event cannot be recorded.
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
	case x.f.tooEarly(c.SaidAt):
		return RefusedTooEarly
	case c.Told != nil && !tells(c.Told, said), c.Told == nil && !corrected && x.changedSince(said):
		return RefusedChanged
	}
	return Accepted
}

// newestWait returns the open wait, or the one that was open last; nil without any.
func (f *Facts) newestWait() *Episode {
	if f.Wait != nil {
		return f.Wait
	}
	return f.LastWait
}

// tooEarly reports whether no one could know the result at that time. People say the minute.
func (f *Facts) tooEarly(at time.Time) bool {
	w := f.newestWait()
	return w != nil && !w.Adopted && at.Before(w.DetectedAt.Truncate(time.Minute))
}

// repeats reports whether the call is one more about what was called already, or waited until it was withdrawn: someone
// may have been informed of it.
func (x *decider) repeats() bool {
	c := x.e.Call
	return c.Force && !c.Draft && (x.f.Report.Status == Done || !x.f.Report.Status.Open() && len(x.known()) > 0)
}

// known is what was said last of the report and its present patient.
func (x *decider) known() []Parameter {
	for i := len(x.ledger) - 1; i >= 0; i-- {
		if x.ledger[i].Kind.aboutValue() && !x.moved(&x.ledger[i]) {
			return x.ledger[i].Parameters
		}
	}
	return nil
}

// said is what the call states: what the report waits for, or, once more, what is critical now; when nothing is, what
// was said before, which it corrects.
func (x *decider) said(repeat bool) (said []Parameter, corrected bool) {
	if !repeat {
		return x.f.Finding.Shown(x.f.Wait), false
	}
	if len(x.f.Finding.Critical) > 0 && !x.gone() {
		return x.f.Finding.Critical, false
	}
	return x.known(), true
}

// changedSince reports whether the values are others than the person can have heard. People say the minute; a value
// that is not the one that was announced counts at once.
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

// tells reports whether exactly these values were said.
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
	case c.Draft, c.Unheard && !(repeat && len(x.uncommunicated(said)) == 0):
		s.Kind, s.Heard, s.Parameters = Attempt, c.Reached, x.uncommunicated(said)
	}
	x.d.Said, x.d.Corrected, x.d.Repeated, x.d.Before = said, corrected, repeat, x.f.newestWait()
	x.d.Recorded = x.say(s)
	recorded := *x.d.Recorded // later statements may move the slice
	x.d.Recorded = &recorded
}

// uncommunicated returns the values of which no completed call holds.
func (x *decider) uncommunicated(said []Parameter) []Parameter {
	return slices.DeleteFunc(slices.Clone(said), func(p Parameter) bool { return x.communicated(&p) })
}

// Shown is what a waiting report lists and what a call of it states: what is critical now, and what was critical and is
// not certainly over; what opened the wait when nothing is left, because no one has judged the report since.
func (f *Finding) Shown(wait *Episode) []Parameter {
	shown := slices.Clone(f.Critical)
	if wait == nil {
		return shown
	}
	for i := range wait.Parameters {
		p := &wait.Parameters[i]
		state, now := f.at(p.Key())
		if state == IsUnclear || state == IsBlank || state == IsMissing || state == IsUnjudged && now.Parameter.Same(p) {
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
