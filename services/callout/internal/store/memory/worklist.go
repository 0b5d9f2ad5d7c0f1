package memory

import (
	"context"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
)

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
			e := s.state.episodes[at]
			i.DetectedAt, i.DueAt, i.Level, i.Opened, i.NoticesOff = e.DetectedAt, e.DueAt, e.Level, e.Parameters, e.NoticesOff
		}
		items = append(items, i)
	}
	slices.SortStableFunc(items, func(a, b worklist.Item) int { return a.DueAt.Compare(b.DueAt) })
	return items[:min(len(items), most)], s.Formats, nil
}

func (s *Store) Unclear(
	_ context.Context, scope authn.LabScope, v callout.Visibility, after time.Time, most int,
) ([]worklist.Unclear, callout.Formats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []worklist.Unclear
	for _, r := range s.pick(scope, func(r Report) bool { return s.sees(v, r) }) {
		if since, ok := s.state.unclear[r.ID]; ok && !since.Before(after) {
			list = append(list, worklist.Unclear{Report: r, Since: since})
		}
	}
	slices.SortStableFunc(list, func(a, b worklist.Unclear) int { return b.Since.Compare(a.Since) })
	return list[:min(len(list), most)], s.Formats, nil
}

// Corrected implements worklist.Store without names.
func (s *Store) Corrected(
	_ context.Context, scope authn.LabScope, v callout.Visibility, after time.Time, most int,
) ([]worklist.Corrected, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []worklist.Corrected
	for _, r := range s.pick(scope, func(r Report) bool { return !r.Status.Open() && s.sees(v, r) }) {
		c, ok := s.state.corrected[r.ID]
		if !ok || c.at.Before(after) {
			continue
		}
		one := worklist.Corrected{ReportID: r.ID, BillID: r.BillID, Test: r.Test, Was: c.was, ToldAt: c.at}
		for _, row := range s.state.rows {
			if row.ReportID == r.ID && !row.At.Before(c.at) {
				one.CalledAt = row.At
			}
		}
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b worklist.Corrected) int { return b.ToldAt.Compare(a.ToldAt) })
	return list[:min(len(list), most)], nil
}

func (s *Store) LastClosed(_ context.Context, scope authn.LabScope, v callout.Visibility) (last time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.state.episodes {
		if e.LabID == scope.LabID() && s.sees(v, s.state.reports[e.ReportID]) && e.ClosedAt.After(last) {
			last = e.ClosedAt
		}
	}
	return last, nil
}

func (s *Store) Figures(
	_ context.Context, scope authn.LabScope, v callout.Visibility, from, to, now time.Time,
) (worklist.Figures, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := worklist.Figures{Limit: s.settingsOf(scope).After}
	doctorID, limited := v.OwnBills()
	counts := func(r Report) bool { return !limited || s.Bills[r.BillID].DoctorID == doctorID }
	for _, r := range s.pick(scope, func(r Report) bool { return r.Status.Open() && counts(r) }) {
		f.Open++
		if at := s.state.openEpisode(r.ID); at >= 0 && s.state.episodes[at].DetectedAt.Before(now.Add(-f.Limit)) {
			f.Overdue++
		}
	}
	for _, e := range s.state.episodes {
		if e.LabID == scope.LabID() && e.ClosedBy == "called" && counts(s.state.reports[e.ReportID]) &&
			!e.DetectedAt.Before(from) &&
			e.DetectedAt.Before(to) {
			f.Called = append(f.Called, e.ClosedAt.Sub(e.DetectedAt))
		}
	}
	return f, nil
}

func (s *Store) Zone(context.Context, authn.LabScope) (*time.Location, error) { return time.UTC, nil }
