package callout

import (
	"fmt"
	"time"
)

// suppress divides critical values into those to call and those whose call the repeat policy suppresses. A call is
// suppressed if the ledger has no notice, call or attempt about the parameter, the patient's last result was critical
// too, and the call of that result holds, is at most RepeatWithin old, was read back, reached the organization and
// doctor of this bill and stated a value that was at least as bad. If the call of the last result was suppressed, the
// result before it counts. Either all values of a report are suppressed or none.
func (x *decider) suppress(news []Parameter) (call, suppressed []Parameter) {
	if len(news) == 0 || x.f.Settings.RepeatWithin <= 0 || x.f.Report.Status.Open() {
		return news, nil
	}
	for i := range news {
		if because, _ := x.justifies(&news[i]); because == "" {
			return news, nil
		}
	}
	return nil, news
}

// justifies returns the report and key of the call because of which p need not be called, and the time of that call.
// The key is empty if a call is necessary.
func (x *decider) justifies(p *Parameter) (because string, at time.Time) {
	if last := x.ledger.last(p.Key()); last != nil { // the policy applies to new results only
		return "", at
	}
	for i := range x.f.Earlier {
		e := &x.f.Earlier[i]
		state, value := e.Finding.at(p.Key())
		if state == IsMissing || state == IsUnjudged {
			continue
		}
		if state != IsCritical {
			return "", at // the last result was not critical, so p is a new event
		}
		if call := e.called(&value.Parameter, x.suppressedAt(p).Add(-x.f.Settings.RepeatWithin)); call != nil {
			said := call.about(p.Key())
			if said.Flag == p.Flag && !p.Worse(said) && call.Audience.reached(x.f.Audience) {
				return fmt.Sprintf("%d/%s", e.ReportID, call.Key), latest(call.ToldAt, call.SaidAt)
			}
			return "", at
		}
		if !e.suppressed(&value.Parameter) {
			return "", at // the last result was critical and no one was informed of it
		}
	}
	return "", at
}

// suppressedAt returns when the call of the value was suppressed, or the present time. It keeps a suppressed call from
// becoming due when the policy's time ends.
func (x *decider) suppressedAt(p *Parameter) time.Time {
	if s := x.f.Ledger.open(Suppression); s != nil && s.about(p.Key()) != nil && s.about(p.Key()).Same(p) {
		return s.SaidAt
	}
	return x.now
}

// called returns the call of an earlier result's value if it holds, was read back and was recorded at or after since;
// nil otherwise.
func (e *Earlier) called(value *Parameter, since time.Time) *Statement {
	last := e.Ledger.last(value.Key())
	if last == nil || last.Kind != Call || !last.ReadBack || !last.about(value.Key()).Same(value) ||
		e.Ledger.takenBack(last.Key, value.Key()) || last.SaidAt.Before(since) {
		return nil
	}
	return last
}

// suppressed reports whether the call of an earlier result was suppressed. In this case, the result before it is
// checked.
func (e *Earlier) suppressed(value *Parameter) bool {
	values, _ := e.Ledger.Suppressed([]Parameter{*value})
	return len(values) > 0
}

// noteSuppression records that calls are suppressed, and ends a suppression that no longer applies.
func (x *decider) noteSuppression(suppressed []Parameter) {
	x.d.Suppressing = len(suppressed) > 0
	current := x.ledger.open(Suppression)
	because, calledAt := "", time.Time{}
	for i := range suppressed {
		because, calledAt = x.justifies(&suppressed[i])
	}
	if current != nil {
		if len(suppressed) > 0 && current.Because == because && sameValues(current.Parameters, suppressed) {
			return
		}
		if len(suppressed) == 0 && x.d.Wait == nil && len(x.f.Finding.Critical) > 0 && !x.gone() {
			return // the value has been communicated since
		}
		x.say(Statement{Kind: Clear, Parameters: current.Parameters, TakesBack: current.Key})
	}
	if len(suppressed) == 0 {
		return
	}
	hours := int(x.f.Settings.RepeatWithin.Hours())
	x.say(Statement{
		Kind: Suppression, Parameters: suppressed, Audience: x.f.Audience, Because: because, ToldAt: calledAt,
		Reason: fmt.Sprintf("The patient's last result was critical too, was called within %d hours and read back, and was not milder", hours),
	})
	x.d.Counts.Suppressed++
	x.log("Critical callout suppressed: the patient's last call was not milder and was read back",
		LogMeta{Suppressed: true, WithinHours: hours})
}

// latest returns when the person was informed or, if unknown, when the call was recorded.
func latest(told, recorded time.Time) time.Time {
	if told.IsZero() {
		return recorded
	}
	return told
}
