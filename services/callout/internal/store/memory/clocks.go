package memory

import (
	"context"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/history"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
)

func (s *state) openEpisode(reportID int64) int {
	return slices.IndexFunc(s.episodes, func(e episode) bool { return e.ReportID == reportID && e.ClosedAt.IsZero() })
}

func (l *locked) OpenEpisode(_ context.Context, e callout.Episode) (int64, error) {
	if l.s.state.openEpisode(e.ReportID) >= 0 {
		return 0, nil
	}
	id := int64(len(l.s.state.episodes) + 1)
	l.s.state.episodes = append(l.s.state.episodes, episode{Episode: e, ID: id, LabID: l.scope.LabID()})
	return id, l.step()
}

func (l *locked) CloseEpisode(_ context.Context, reportID int64, at time.Time, by string) error {
	if i := l.s.state.openEpisode(reportID); i >= 0 {
		l.s.state.episodes[i].ClosedAt, l.s.state.episodes[i].ClosedBy = at, by
	}
	return l.step()
}

func (l *locked) Evaluated(_ context.Context, ids []int64) error {
	for _, id := range ids {
		l.s.state.evaluated[id] = l.s.state.reports[id].Changed
	}
	return l.step()
}

func (l *locked) Escalation(_ context.Context, billID int64) (callout.Escalation, error) {
	e := l.s.state.clocks[billID]
	e.LabID, e.BillID = l.scope.LabID(), billID
	return e, nil
}

func (l *locked) SaveEscalation(_ context.Context, e callout.Escalation) error {
	e.JobID = l.s.state.clocks[e.BillID].JobID
	l.s.state.clocks[e.BillID] = e
	return l.step()
}

func (l *locked) Waiting(_ context.Context, billID int64) ([]callout.Report, error) {
	return l.s.pick(l.scope, func(r Report) bool { return r.BillID == billID && r.Status.Open() }), nil
}

// Escalation implements delivery.Clocks.
func (s *Store) Escalation(_ context.Context, scope authn.LabScope, billID int64) (callout.Escalation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.state.clocks[billID]
	e.LabID, e.BillID = scope.LabID(), billID
	return e, nil
}

// NoteJob implements delivery.Clocks.
func (s *Store) NoteJob(_ context.Context, _ authn.LabScope, billID int64, jobID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.state.clocks[billID]
	e.JobID = jobID
	s.state.clocks[billID] = e
	return nil
}

// Logs implements history.Store. Metas are not kept as text here.
func (s *Store) Logs(_ context.Context, scope authn.LabScope, ids []int64, most int) ([]history.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries := []history.Entry{}
	for _, e := range s.state.log {
		if e.LabID == scope.LabID() && e.Category == activitylog.CriticalCallout && slices.Contains(ids, e.ReportID) {
			entries = append(entries, history.Entry{Meta: []byte("{}"), UserName: e.Actor.Name, Text: e.Text, At: e.At})
		}
	}
	return entries[max(0, len(entries)-most):], nil
}

// Latest implements history.Store without names, which are the platform's.
func (s *Store) Latest(_ context.Context, scope authn.LabScope, ids []int64) (map[int64]history.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[int64]history.Record{}
	for _, r := range s.state.rows {
		if r.LabID == scope.LabID() && r.ReportID != 0 && slices.Contains(ids, r.ReportID) {
			found[r.ReportID] = history.Record{
				ID:          r.ID,
				ReportID:    r.ReportID,
				BillID:      &r.Bill.ID,
				Comment:     r.Comment,
				CalloutMeta: r.CalloutMeta,
				ValuesMeta:  r.ValuesMeta,
				Recipients:  r.Recipients,
				CreatedOn:   r.At,
			}
		}
	}
	return found, nil
}

// OfDoctor implements history.Store.
func (s *Store) OfDoctor(_ context.Context, scope authn.LabScope, doctorID int64, ids []int64) ([]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var own []int64
	for _, id := range ids {
		r, ok := s.state.reports[id]
		if b := s.Bills[r.BillID]; ok && r.LabID == scope.LabID() && b.LabID == r.LabID && b.DoctorID == doctorID {
			own = append(own, id)
		}
	}
	return own, nil
}

// Waiting implements worklist.Store without names.
func (s *Store) Waiting(_ context.Context, scope authn.LabScope, v callout.Visibility, most int) (
	[]worklist.Item, callout.Formats, error,
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var items []worklist.Item
	for _, r := range s.pick(scope, func(r Report) bool { return r.Status.Open() && s.sees(v, r) }) {
		i := worklist.Item{Report: r, DetectedAt: s.clock.Now()}
		if at := s.state.openEpisode(r.ID); at >= 0 {
			i.DetectedAt = s.state.episodes[at].DetectedAt
		}
		if e := s.state.clocks[r.BillID]; e.Open {
			i.DueAt, i.Level = e.DueAt, e.Level
		}
		items = append(items, i)
	}
	slices.SortStableFunc(items, func(a, b worklist.Item) int { return a.DueAt.Compare(b.DueAt) })
	return items[:min(len(items), most)], s.Formats, nil
}

// Figures implements worklist.Store.
func (s *Store) Figures(
	_ context.Context, scope authn.LabScope, v callout.Visibility, from, to, now time.Time,
) (worklist.Figures, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := worklist.Figures{Limit: s.paceOf(scope).After}
	doctorID, limited := v.OwnBills()
	counts := func(r Report) bool { return !limited || s.Bills[r.BillID].DoctorID == doctorID }
	for _, r := range s.pick(scope, func(r Report) bool { return r.Status.Open() && counts(r) }) {
		f.Open++
		if at := s.state.openEpisode(r.ID); at >= 0 && s.state.episodes[at].DetectedAt.Before(now.Add(-f.Limit)) {
			f.Overdue++
		}
	}
	for _, e := range s.state.episodes {
		if e.LabID == scope.LabID() && e.ClosedBy == "called" && counts(s.state.reports[e.ReportID]) && !e.DetectedAt.Before(from) && e.DetectedAt.Before(to) {
			f.Called = append(f.Called, e.ClosedAt.Sub(e.DetectedAt))
		}
	}
	return f, nil
}

// Zone implements worklist.Store.
func (s *Store) Zone(context.Context, authn.LabScope) (*time.Location, error) { return time.UTC, nil }
