package callout

import (
	"fmt"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
)

// settled is how long a value must be blank, unreadable or removed before statements about it are taken back: an
// analyser may blank a value before it writes the next one. An evaluation that names the report does not wait.
const settled = 3 * time.Minute

// Decide returns the changes that bring the wait, the statements and the messages of a report up to date. It contains
// all rules and is pure: the same facts, event and time give the same decision, and a decision on its own outcome
// changes nothing.
func Decide(f *Facts, e Event, now time.Time) Decision {
	x := decider{f: f, e: e, now: now, ledger: f.Ledger[:len(f.Ledger):len(f.Ledger)]}
	x.d = Decision{Report: f.Report, Status: f.Report.Status, Wait: f.Wait, Repeating: f.Settings.RepeatWithin > 0}
	x.pinNotice()
	x.pinForeign()
	if e.Call != nil {
		if x.d.Refused = x.refusal(); x.d.Refused != Accepted {
			return x.d
		}
		x.record()
	}
	if !x.unknownDone() {
		x.takeBack()
		x.judge()
		x.deadlines()
	}
	x.unclear()
	x.unconfirmed()
	x.resend()
	x.d.Called = slices.ContainsFunc(x.ledger, func(s Statement) bool { return s.Kind == Call })
	return x.d
}

// decider builds one decision.
type decider struct {
	f      *Facts
	e      Event
	now    time.Time
	ledger Ledger // f.Ledger, then the statements of this decision
	d      Decision
	// tookBack collects data for the history entry about statements taken back. heard is set if a person heard one of
	// them.
	tookBack struct {
		any, heard bool
		reason     string
	}
	// withdrawn describes the notices taken back in this decision: their shared key, and the audience of the first one.
	withdrawn struct {
		key   string
		first Audience
	}
}

// say adds a statement to the ledger and the decision. A statement without a key gets its kind and its number among the
// statements of this kind.
func (x *decider) say(s Statement) *Statement {
	if s.Key == "" {
		s.Key = fmt.Sprintf("%s:%d", s.Kind, x.ledger.count(s.Kind)+1)
	}
	s.BillID = x.f.Report.BillID
	if s.PatientID == 0 {
		s.PatientID = x.f.Report.PatientID
	}
	if s.SaidAt.IsZero() {
		s.SaidAt = x.now
	}
	x.ledger = append(x.ledger, s)
	x.d.Statements = append(x.d.Statements, s)
	return &x.d.Statements[len(x.d.Statements)-1]
}

func (x *decider) send(m Message) {
	m.ReportID, m.BillID = x.f.Report.ID, x.f.Report.BillID
	x.d.Messages = append(x.d.Messages, m)
}

func (x *decider) log(text string, meta LogMeta) {
	x.d.Logs = append(x.d.Logs, Log{Text: text, Meta: meta, By: authn.Platform})
}

// unknownDone reports whether the critical values of the report are not evaluated: another program set it to done, the
// ledger states no value of it, and no caller requests its evaluation.
func (x *decider) unknownDone() bool {
	return x.f.Report.Status == Done && x.f.Wait == nil && !x.e.Named && x.e.Call == nil &&
		!x.knows()
}

// knows reports whether the ledger states any value of the report.
func (x *decider) knows() bool {
	return slices.ContainsFunc(x.ledger, func(s Statement) bool { return s.Kind.aboutValue() && len(s.Parameters) > 0 })
}

// gone reports whether the report is dismissed or deleted.
func (x *decider) gone() bool { return x.f.Report.Dismissed }

// moved reports whether the statement is about a previous patient of the report. Patients whose records were merged
// count as the same.
func (x *decider) moved(s *Statement) bool {
	return s.PatientID != 0 && s.PatientID != x.f.Report.PatientID && !slices.Contains(x.f.Merged, s.PatientID)
}

// communicated reports whether the last statement about the parameter is a completed call about this patient that
// states this value and was not taken back.
func (x *decider) communicated(p *Parameter) bool {
	last := x.ledger.last(p.Key())
	return last != nil && last.Kind == Call && !x.moved(last) && last.says(p) && !x.ledger.takenBack(last.Key, p.Key())
}

// announced reports whether today's audience was informed by a notice or an attempt that the parameter is critical, and
// this was not taken back. After a completed call or a change of limits, the present value has to be announced again.
func (x *decider) announced(p *Parameter) bool {
	k := p.Key()
	for i := len(x.ledger) - 1; i >= 0; i-- {
		s := &x.ledger[i]
		switch {
		case s.about(k) == nil:
		case s.Kind == Call, s.Kind == LimitsChanged:
			return false
		case s.Void, s.Kind == Notice && s.NotSent && x.e.NoticesBack: // never sent, and not to be sent any more
		case s.Kind == Notice || s.Kind == Attempt && s.Heard:
			if s.Audience.same(x.f.Audience) && !x.moved(s) && !x.ledger.takenBack(s.Key, k) {
				return true
			}
		}
	}
	return false
}

// waitsFor returns the parameters that have to be called, and the parameters whose call the repeat policy suppresses.
// At least one of the lists is empty.
func (x *decider) waitsFor() (waits []Parameter, suppressed []Parameter) {
	if x.gone() {
		return nil, nil
	}
	var news []Parameter
	for i := range x.f.Finding.Critical {
		if p := &x.f.Finding.Critical[i]; !x.communicated(p) {
			news = append(news, *p)
		}
	}
	if x.f.Wait == nil {
		return x.suppress(news)
	}
	if x.waitMoved() {
		return news, nil
	}
	for i := range x.f.Wait.Parameters { // keep values of the wait that may still be critical
		p := &x.f.Wait.Parameters[i]
		if state, now := x.f.Finding.at(p.Key()); x.mayBeCritical(p, state, now) && !x.calledSince(p) {
			news = append(news, *p)
		}
	}
	return news, nil
}

// mayBeCritical reports whether a value of the wait may still be critical: it is unclear, blank or removed, or it has
// not changed and no enabled format applies to it.
func (x *decider) mayBeCritical(p *Parameter, state State, now *Judged) bool {
	switch state {
	case IsUnclear, IsBlank, IsMissing:
		return true
	case IsUnjudged:
		return now.Same(p)
	}
	return false
}

// calledSince reports whether the last statement about the parameter is a call of the value of the wait.
func (x *decider) calledSince(p *Parameter) bool {
	last := x.ledger.last(p.Key())
	return last != nil && last.Kind == Call && last.says(p)
}

// settled reports whether a blank, unreadable or removed value is final. now is nil if the value was removed.
func (x *decider) settled(now *Judged) bool {
	return x.e.Named || x.now.Sub(x.changedAt(now)) >= settled
}

// changedAt returns when the value was stored. The time of a removal is not known; it is at the latest the last change
// of the report, which is returned then.
func (x *decider) changedAt(now *Judged) time.Time {
	switch {
	case now != nil:
		return now.At
	case x.f.Report.TouchedAt.After(x.f.ValuesAt):
		return x.f.Report.TouchedAt
	}
	return x.f.ValuesAt
}

// judge opens, keeps or ends the wait of the report, and sets the report's status.
func (x *decider) judge() {
	waits, suppressed := x.waitsFor()
	switch {
	case len(waits) == 0 && x.f.Wait == nil && x.adopts():
		x.adopt()
	case len(waits) > 0 && (x.f.Wait == nil || x.waitMoved()):
		x.begin(waits)
	case len(waits) > 0:
		x.goOn(waits)
	case x.f.Wait != nil && !x.keepsUnknown():
		x.end()
	}
	x.noteSuppression(suppressed)
	x.d.Status = x.status(suppressed)
	x.logTakenBack()
}

// adopts reports whether another program set the report to waiting, no value is critical, and not all values can be
// judged (Finding.Undecided).
func (x *decider) adopts() bool {
	return x.f.Report.Status.Open() && !x.gone() && x.f.Finding.Undecided && len(x.f.Finding.Critical) == 0
}

// keepsUnknown reports whether the wait has no values because another program set the report to waiting, not all values
// can be judged yet, and this decision records no call.
func (x *decider) keepsUnknown() bool {
	return len(x.f.Wait.Parameters) == 0 && x.f.Finding.Undecided && x.f.Report.Status.Open() && !x.gone() &&
		(x.d.Recorded == nil || x.d.Recorded.Kind != Call)
}

// adopt opens a wait without parameters for a report that another program set to waiting. It sends no notice.
func (x *decider) adopt() {
	w := Episode{ReportID: x.f.Report.ID, BillID: x.f.Report.BillID, DetectedAt: x.now, Adopted: true}
	w = w.Start(x.f.Settings.Pace)
	x.d.Wait, x.d.WaitChange, x.d.Wake = &w, WaitOpened, true
}

// begin opens the wait of a report. If another program set the report to waiting, the notice is recorded but not sent.
func (x *decider) begin(waits []Parameter) {
	w := Episode{ReportID: x.f.Report.ID, BillID: x.f.Report.BillID, DetectedAt: x.now, Parameters: waits}
	w.Adopted = x.f.Wait == nil && x.f.Report.Status.Open() && !slices.ContainsFunc(waits, func(p Parameter) bool {
		return x.f.Ledger.last(p.Key()) != nil
	})
	w = w.Start(x.f.Settings.Pace)
	x.d.Wait, x.d.WaitChange, x.d.Wake = &w, WaitOpened, true
	if x.f.Wait != nil {
		x.d.WaitChange, x.d.ClosedBy, x.d.ClosedAt = WaitRenewed, "moved", x.now
	}
	x.announce(waits, w.Adopted)
}

// waitMoved reports whether the newest notice of the open wait is about another patient.
func (x *decider) waitMoved() bool {
	for i := len(x.f.Ledger) - 1; i >= 0 && x.f.Wait != nil; i-- {
		if x.f.Ledger[i].Kind == Notice {
			return x.moved(&x.f.Ledger[i])
		}
	}
	return false
}

// announce records and sends notices of critical values to today's audience, and to each audience that was told another
// value of the parameters. If silent is set, it records one notice and sends none.
func (x *decider) announce(values []Parameter, silent bool) {
	told := x.toldOf(values)
	key := x.say(Statement{Kind: Notice, Parameters: values, Audience: x.f.Audience}).Key
	if silent {
		return
	}
	x.d.Counts.Critical++
	x.log("Critical result detected", LogMeta{Detected: true})
	x.send(Message{Kind: Announce, Key: key, Audience: x.f.Audience})
	for _, earlier := range told {
		if other, ok := earlier.without(x.f.Audience); ok {
			key := x.say(Statement{Kind: Notice, Parameters: values, Audience: other}).Key
			x.send(Message{Kind: Announce, Key: key, Audience: other, Quiet: true})
		}
	}
}

// toldOf returns the audiences that were told another value of these parameters in a call or an attempt that holds.
func (x *decider) toldOf(values []Parameter) (audiences []Audience) {
	for i := range x.ledger {
		s := &x.ledger[i]
		if !s.Heard || s.Kind != Call && s.Kind != Attempt || x.moved(s) {
			continue
		}
		for j := range values {
			p := s.about(values[j].Key())
			if p == nil || p.Same(&values[j]) || x.ledger.takenBack(s.Key, p.Key()) {
				continue
			}
			if !slices.ContainsFunc(audiences, s.Audience.same) {
				audiences = append(audiences, s.Audience)
			}
		}
	}
	return audiences
}

// goOn keeps the wait open, updates its values, and announces parameters without a notice, after the last escalation
// values that have become worse, and values with an unsent notice when notices can be sent again.
func (x *decider) goOn(waits []Parameter) {
	w := *x.f.Wait
	var fresh []Parameter
	worse := false
	for i := range waits {
		p := &waits[i]
		switch {
		case !x.f.Finding.has(p): // no longer critical (unclear, blank or removed), so not announced
		case !x.announced(p):
			fresh = append(fresh, *p)
		case w.Exhausted() && x.worse(p):
			worse, fresh = true, append(fresh, *p)
		}
	}
	if x.e.NoticesBack && len(fresh) == 0 {
		fresh = slices.DeleteFunc(slices.Clone(waits), func(p Parameter) bool {
			return !x.f.Finding.has(&p) || !x.unsent(&p)
		})
	}
	changed := !sameValues(w.Parameters, waits)
	w.Parameters = waits
	silent := w.Adopted && len(x.f.Wait.Parameters) == 0 && !slices.ContainsFunc(fresh, x.newerThanWait)
	switch {
	case len(fresh) > 0 && w.Exhausted() && !x.e.NoticesBack || worse:
		w = w.Renew(x.now, x.f.Settings.Pace)
		x.d.Wait, x.d.WaitChange, x.d.ClosedBy, x.d.ClosedAt, x.d.Wake = &w, WaitRenewed, "renewed", x.now, true
	case changed:
		x.d.Wait, x.d.WaitChange = &w, WaitChanged
	}
	if len(fresh) > 0 {
		x.announce(fresh, silent)
	}
}

// newerThanWait reports whether a value was stored after the wait began. The program that set the report to waiting
// cannot have announced such a value.
func (x *decider) newerThanWait(p Parameter) bool {
	_, now := x.f.Finding.at(p.Key())
	return now == nil || now.At.After(x.f.Wait.DetectedAt)
}

// unsent reports whether the notification service did not accept the last notice about a waiting value, or the last
// escalation or reminder since. A sent escalation does not replace a notice, because it goes to the laboratory only.
func (x *decider) unsent(p *Parameter) bool {
	escalated := false
	for i := len(x.ledger) - 1; i >= 0; i-- {
		s := &x.ledger[i]
		switch {
		case s.about(p.Key()) == nil:
		case s.Kind == Notice:
			return s.NotSent
		case (s.Kind == Escalation || s.Kind == Reminder) && !escalated:
			if s.NotSent {
				return true
			}
			escalated = true
		}
	}
	return false
}

// worse reports whether a value is worse than in the last notice, attempt, escalation or reminder about it.
func (x *decider) worse(p *Parameter) bool {
	for i := len(x.ledger) - 1; i >= 0; i-- {
		s := &x.ledger[i]
		if s.Kind != Notice && s.Kind != Escalation && s.Kind != Reminder && s.Kind != Attempt {
			continue
		}
		if said := s.about(p.Key()); said != nil {
			return p.Worse(said)
		}
	}
	return false
}

func sameValues(a, b []Parameter) bool {
	return slices.EqualFunc(a, b, func(p, q Parameter) bool {
		return p.Key() == q.Key() && p.RawValue == q.RawValue && p.FormatID == q.FormatID && p.Flag == q.Flag
	})
}

// end closes the wait.
func (x *decider) end() {
	x.d.Wait, x.d.WaitChange, x.d.ClosedBy, x.d.ClosedAt, x.d.Wake = nil, WaitClosed, "corrected", x.now, true
	called := x.calledNow()
	switch {
	case x.d.Recorded != nil && x.d.Recorded.Kind == Call:
		x.d.ClosedBy, x.d.ClosedAt = "called", x.toldAt()
	case called, x.f.Report.Status == Done && !x.knows():
		x.d.ClosedBy = "elsewhere"
	case x.gone():
		x.d.ClosedBy = "gone"
	}
	if called {
		x.stopNotices()
		return
	}
	if !x.tookBack.any { // no statement explains the end: another program opened the wait, or the limits changed
		x.tookBack.any = true
		x.tookBack.reason = x.endReason()
	}
}

// toldAt returns when the person was informed, but not before the detection. The time to callout in the summary ends
// here, not when the call was recorded.
func (x *decider) toldAt() time.Time {
	if at := x.d.Recorded.ToldAt; at.After(x.f.Wait.DetectedAt) {
		return at
	}
	return x.f.Wait.DetectedAt
}

// calledNow reports whether this decision records a call, made through this service or another program.
func (x *decider) calledNow() bool {
	return slices.ContainsFunc(x.d.Statements, func(s Statement) bool { return s.Kind == Call })
}

// stopNotices withdraws all notices since the last call, because a clinician has been informed. The notification
// service then stops the pushes that it has not handed over.
func (x *decider) stopNotices() {
	for i := len(x.f.Ledger) - 1; i >= 0 && x.f.Ledger[i].Kind != Call; i-- {
		if s := &x.f.Ledger[i]; s.Kind == Notice {
			x.send(Message{Kind: Withdraw, Notice: s.Key, Key: s.Key, Called: true})
		}
	}
}

// status returns the status of the report after the decision.
func (x *decider) status(suppressed []Parameter) Status {
	now := x.f.Report.Status
	if x.d.Wait != nil {
		attempted := now == Attempted && x.f.Wait != nil && x.d.ClosedBy != "moved" || x.d.Recorded != nil && x.d.Recorded.Kind == Attempt ||
			now == Attempted && x.d.Wait.Adopted
		if attempted {
			return Attempted
		}
		return Pending
	}
	switch {
	case x.gone() && !now.Open():
		return now
	case len(x.f.Finding.Critical) > 0 && !x.gone():
		if len(suppressed) > 0 {
			return Abnormal
		}
		return Done
	case now == Done && !x.knows():
		return Done // another program set it
	case (now == Done || x.d.Recorded != nil && x.d.Recorded.Kind == Call || x.d.ClosedBy == "elsewhere") &&
		x.calledPatient():
		return Done
	case x.f.Finding.Undecided && !x.f.Finding.Abnormal && !now.Open() && now != Done:
		return now
	case x.f.Finding.Abnormal:
		return Abnormal
	}
	return Normal
}

// calledPatient reports whether the ledger has a call about the report's present patient, even one that was taken back.
func (x *decider) calledPatient() bool {
	for i := range x.ledger {
		if x.ledger[i].Kind == Call && !x.moved(&x.ledger[i]) {
			return true
		}
	}
	return false
}
