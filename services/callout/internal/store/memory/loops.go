package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/reap"
	"github.com/labplatform/labplatform/services/callout/internal/sweep"
)

// Lead implements reap.Store and sweep.Store.
func (s *Store) Lead(ctx context.Context, work func(context.Context) error) error { return work(ctx) }

// Unjudged implements sweep.Store. Rows have no time here, so every window holds them.
func (s *Store) Unjudged(_ context.Context, _, _ time.Time, limit int) ([]sweep.Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []sweep.Report
	for _, id := range slices.Sorted(maps.Keys(s.state.reports)) {
		r := s.state.reports[id]
		if at, ok := s.state.evaluated[id]; !r.Dismissed && (!ok || at != r.Changed) {
			found = append(found, sweep.Report{LabID: r.LabID, ID: id})
		}
	}
	return found[:min(len(found), limit)], nil
}

// Orphans implements reap.Store.
func (s *Store) Orphans(_ context.Context, _ time.Time, limit int) ([]reap.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []reap.Item
	for _, id := range slices.Sorted(maps.Keys(s.state.reports)) {
		r := s.state.reports[id]
		if r.Status.Open() && !r.Dismissed && s.state.openEpisode(id) < 0 {
			found = append(found, reap.Item{LabID: r.LabID, ID: id})
		}
	}
	return found[:min(len(found), limit)], nil
}

// Ghosts implements reap.Store.
func (s *Store) Ghosts(_ context.Context, now time.Time, limit int) ([]reap.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var bills []reap.Item
	for i := range s.state.episodes {
		e := &s.state.episodes[i]
		r, ok := s.state.reports[e.ReportID]
		gone := !ok || r.Dismissed || !r.Status.Open()
		if !e.ClosedAt.IsZero() || !gone && r.BillID == e.BillID {
			continue
		}
		if item := (reap.Item{LabID: e.LabID, ID: e.BillID}); !slices.Contains(bills, item) {
			bills = append(bills, item)
		}
		if gone {
			e.ClosedAt, e.ClosedBy = now, "gone"
		} else {
			e.BillID = r.BillID
		}
	}
	return bills[:min(len(bills), limit)], nil
}

// Unclocked implements reap.Store.
func (s *Store) Unclocked(_ context.Context, limit int) ([]reap.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var bills []reap.Item
	for _, e := range s.state.episodes {
		item := reap.Item{LabID: e.LabID, ID: e.BillID}
		if e.ClosedAt.IsZero() && !s.state.clocks[e.BillID].Open && !slices.Contains(bills, item) {
			bills = append(bills, item)
		}
	}
	for bill, c := range s.state.clocks {
		waits := slices.ContainsFunc(slices.Collect(maps.Values(s.state.reports)), func(r Report) bool {
			return r.BillID == bill && r.LabID == c.LabID && !r.Dismissed && r.Status.Open()
		})
		if c.Open && !waits {
			bills = append(bills, reap.Item{LabID: c.LabID, ID: bill})
		}
	}
	return bills[:min(len(bills), limit)], nil
}

// Overdue implements reap.Store.
func (s *Store) Overdue(_ context.Context, now time.Time, limit int) ([]reap.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var bills []reap.Item
	for _, bill := range slices.Sorted(maps.Keys(s.state.clocks)) {
		if c := s.state.clocks[bill]; c.Overdue(now) {
			bills = append(bills, reap.Item{LabID: c.LabID, ID: bill})
		}
	}
	return bills[:min(len(bills), limit)], nil
}

// Running implements reap.Store.
func (s *Store) Running(_ context.Context, after int64, limit int) ([]callout.Escalation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var clocks []callout.Escalation
	for _, bill := range slices.Sorted(maps.Keys(s.state.clocks)) {
		if c := s.state.clocks[bill]; bill > after && c.Open && c.DueAt.After(s.clock.Now()) {
			clocks = append(clocks, c)
		}
	}
	return clocks[:min(len(clocks), limit)], nil
}
