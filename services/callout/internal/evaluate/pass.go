package evaluate

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/escalate"
)

// pass is one transaction.
type pass struct {
	Locked
	d     Deps
	scope authn.LabScope
	now   time.Time
	why   Why

	settings callout.Settings
	bills    map[int64]callout.Bill
	waits    map[int64]callout.Episode
	told     map[int64]callout.Snapshot
	memories map[int64]Memory
	marked   map[int64]bool // reports that are known to have a value that cannot be judged

	results []Result
	wake    []int64 // bills whose deadlines changed
	unclear []unclearValue
	counts  Counts
	sent    bool
	visible bool
}

// unclearValue says where a value is that cannot be judged, and not what it is.
type unclearValue struct {
	report int64
	index  int
}

// subject is a report with what is known about it.
type subject struct {
	callout.Report
	finding callout.Finding
	facts   callout.Case
	memory  Memory
	// corrected means that everybody was told in this pass that it was wrong.
	corrected bool
}

func (p *pass) run(ctx context.Context) error {
	reports := p.Reports()
	if len(reports) == 0 {
		return nil
	}
	ids := make([]int64, len(reports))
	for i := range reports {
		ids[i] = reports[i].ID
	}
	if err := p.load(ctx, ids); err != nil {
		return err
	}
	for _, r := range reports {
		if err := p.report(ctx, p.subject(r)); err != nil {
			return fmt.Errorf("report %d: %w", r.ID, err)
		}
	}
	if err := escalate.Wake(ctx, p, p.d.Messages, p.scope.LabID(), p.wake); err != nil {
		return err
	}
	p.sent = p.sent || len(p.wake) > 0
	return p.Evaluated(ctx, ids)
}

func (p *pass) load(ctx context.Context, ids []int64) (err error) {
	if p.settings, err = p.Settings(ctx); err != nil {
		return err
	}
	if p.waits, err = p.Episodes(ctx, ids); err != nil {
		return err
	}
	if p.told, err = p.Told(ctx, ids); err != nil {
		return err
	}
	if p.marked, err = p.Unclear(ctx, ids); err != nil {
		return err
	}
	p.memories, err = p.Memories(ctx, ids)
	return err
}

func (p *pass) subject(r callout.Report) *subject {
	s := &subject{Report: r, finding: callout.Judge(r.Chart, p.Formats()), memory: p.memories[r.ID]}
	s.facts = callout.Case{Status: r.Status, Named: p.why == Named}
	if wait, ok := p.waits[r.ID]; ok {
		s.facts.Wait = &wait
	}
	if told, ok := p.told[r.ID]; ok {
		s.facts.Told = &callout.Told{Snapshot: told, Corrected: s.memory.Corrected}
	}
	return s
}

// report judges one report and moves it.
func (p *pass) report(ctx context.Context, s *subject) error {
	before := s.memory
	if err := p.correct(ctx, s); err != nil {
		return err
	}
	event, ok := s.finding.Event(s.facts)
	if ok && event == callout.FoundCritical && !s.Status.Open() && s.facts.Wait == nil {
		spared, err := p.spares(ctx, s)
		if err != nil {
			return err
		}
		if spared {
			event = callout.FoundAbnormal
		}
	}
	to := s.Status
	if ok {
		to, _ = s.Status.After(event)
	}
	p.results = append(p.results, Result{s.ID, to})
	if err := p.move(ctx, s, to); err != nil {
		return err
	}
	if err := p.markUnclear(ctx, s); err != nil || reflect.DeepEqual(before, s.memory) {
		return err
	}
	return p.Remember(ctx, s.ID, s.memory)
}

func (p *pass) move(ctx context.Context, s *subject, to callout.Status) error {
	if to != s.Status {
		if err := p.Move(ctx, s.ID, s.Status, to); err != nil {
			return err
		}
	}
	p.visible = p.visible || to.Open() || s.Status.Open() || s.facts.Wait != nil
	switch {
	case to.Open() && s.facts.Wait == nil:
		return p.begin(ctx, s)
	case to.Open():
		return p.goOn(ctx, s)
	case s.facts.Wait != nil:
		return p.end(ctx, s, to)
	}
	return nil
}

// begin opens the episode of a report. Who set the state without us has announced it.
func (p *pass) begin(ctx context.Context, s *subject) error {
	e := callout.Episode{
		ReportID: s.ID, BillID: s.BillID, DetectedAt: p.now, Parameters: s.finding.Critical, Adopted: s.Status.Open(),
	}
	e = e.Start(p.settings.Pace)
	id, err := p.OpenEpisode(ctx, e)
	if err != nil {
		return err
	}
	if e.Adopted {
		p.wake = append(p.wake, s.BillID)
		return nil
	}
	return p.announce(ctx, s, id)
}

// announce tells of what an episode is about, and has its deadline watched.
func (p *pass) announce(ctx context.Context, s *subject, episodeID int64) error {
	p.wake = append(p.wake, s.BillID)
	p.counts.Critical++
	if err := p.logDetection(ctx, s); err != nil {
		return err
	}
	return p.notify(ctx, s, fmt.Sprintf("pending:%d", episodeID), false)
}

// goOn keeps what the report waits for now.
func (p *pass) goOn(ctx context.Context, s *subject) error {
	e := *s.facts.Wait
	waits := s.finding.Shown(e.Parameters)
	if reflect.DeepEqual(waits, e.Parameters) || len(waits) == 0 {
		return nil
	}
	fresh := e.Exhausted() && s.finding.Adds(e.Parameters)
	e.Parameters = waits
	if fresh {
		return p.renew(ctx, s, e)
	}
	return p.SaveParameters(ctx, e)
}

// renew begins another run for what turned critical after the last escalation: no one would hear of it.
func (p *pass) renew(ctx context.Context, s *subject, e callout.Episode) error {
	if err := p.CloseEpisode(ctx, s.ID, p.now, "renewed"); err != nil {
		return err
	}
	id, err := p.OpenEpisode(ctx, e.Renew(p.now, p.settings.Pace))
	if err != nil {
		return err
	}
	return p.announce(ctx, s, id)
}

func (p *pass) end(ctx context.Context, s *subject, to callout.Status) error {
	p.wake = append(p.wake, s.BillID)
	if to == callout.Done {
		return p.CloseEpisode(ctx, s.ID, p.now, "elsewhere") // another program says that someone was told
	}
	if err := p.CloseEpisode(ctx, s.ID, p.now, "corrected"); err != nil {
		return err
	}
	if err := p.logWithdrawal(ctx, s); err != nil || s.Status != callout.Attempted || s.corrected {
		return err
	}
	heard, err := p.Heard(ctx, s.BillID, s.ID) // without reading it back, and may have acted on it
	if err != nil || len(heard) == 0 {
		return err
	}
	return p.tellWrong(ctx, s, heard)
}

// notify tells the organisation, the referring doctor and the laboratory.
func (p *pass) notify(ctx context.Context, s *subject, key string, corrected bool) error {
	if p.bills == nil {
		var err error
		if p.bills, err = p.Bills(ctx); err != nil {
			return err
		}
	}
	n := escalate.Notice{
		LabID: p.scope.LabID(), OrgID: p.bills[s.BillID].OrgID, DoctorID: p.bills[s.BillID].DoctorID,
		ReportID: s.ID, BillID: s.BillID, Corrected: corrected, Key: key,
	}
	if s.OrgID != nil {
		n.OrgID = *s.OrgID
	}
	event, err := p.d.Messages.Notice(n)
	if err != nil {
		return err
	}
	p.sent = true
	return p.Send(ctx, event)
}

func (p *pass) markUnclear(ctx context.Context, s *subject) error {
	unclear := len(s.finding.Unclear) > 0
	if unclear == p.marked[s.ID] {
		return nil
	}
	p.visible = true
	if err := p.MarkUnclear(ctx, s.ID, unclear, p.now); err != nil || !unclear {
		return err
	}
	p.counts.Unclear += len(s.finding.Unclear)
	for _, v := range s.finding.Unclear {
		p.unclear = append(p.unclear, unclearValue{s.ID, v.Index})
	}
	return nil
}

// correct tells everybody who was told of a value that it was wrong, once.
func (p *pass) correct(ctx context.Context, s *subject) error {
	withdrawn := s.finding.Withdrawn(s.facts.Told)
	s.memory.Corrected = s.finding.Corrections(s.facts.Told)
	if s.facts.Told != nil {
		s.facts.Told.Corrected = s.memory.Corrected
	}
	if len(withdrawn) == 0 {
		return nil
	}
	return p.tellWrong(ctx, s, withdrawn)
}

func (p *pass) tellWrong(ctx context.Context, s *subject, values []callout.Parameter) error {
	s.corrected = true
	p.counts.Corrected++
	p.visible = true
	if err := p.logCorrection(ctx, s); err != nil {
		return err
	}
	if err := p.NoteCorrection(ctx, s.ID, values, p.now); err != nil {
		return err
	}
	return p.notify(ctx, s, fmt.Sprintf("corrected:%d:%d", s.ID, p.now.UnixMilli()), true)
}

// spares reports whether the laboratory's policy makes a call unnecessary, and decides it once: the same values stay
// spared.
func (p *pass) spares(ctx context.Context, s *subject) (bool, error) {
	if p.settings.RepeatWithin <= 0 {
		return false, nil
	}
	var values []SparedValue
	for _, c := range s.finding.Critical {
		values = append(values, SparedValue{c.FormatID, c.RawValue})
	}
	if slices.Equal(values, s.memory.Spared) {
		return true, nil
	}
	calls, err := p.Calls(ctx, s.PatientID, p.now.Add(-p.settings.RepeatWithin))
	if err != nil || !callout.Spares(calls, s.finding.Critical) {
		return false, err
	}
	s.memory.Spared = values
	p.counts.Suppressed++
	return true, p.logSuppression(ctx, s)
}
