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

// Reaps is the store as reap.Store.
type Reaps struct{ *Store }

var _ reap.Store = (*Reaps)(nil)

// Lead implements reap.Store and sweep.Store.
func (s *Store) Lead(ctx context.Context, work func(context.Context) error) error { return work(ctx) }

func (s *Store) Unjudged(
	_ context.Context, after sweep.Report, until time.Time, limit int,
) ([]sweep.Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []sweep.Report
	for id, r := range s.state.reports {
		at, ok := s.state.evaluated[id]
		one := sweep.Report{LabID: r.LabID, ID: id, ChangedAt: r.ChangedAt}
		if !r.Dismissed && (!ok || at != r.Changed) && one.ChangedAt.Before(until) && compare(one, after) > 0 {
			found = append(found, one)
		}
	}
	slices.SortFunc(found, compare)
	return found[:min(len(found), limit)], nil
}

func compare(a, b sweep.Report) int {
	if n := a.ChangedAt.Compare(b.ChangedAt); n != 0 {
		return n
	}
	return int(a.ID - b.ID)
}

func (s *Store) SweptUntil(context.Context) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.sweptUntil, nil
}

func (s *Store) SaveSweptUntil(_ context.Context, until time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.sweptUntil = until
	return nil
}

// reports returns the reports of all laboratories that a condition picks.
func (s Reaps) reports(limit int, condition func(Report) bool) ([]reap.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []reap.Item
	for _, id := range slices.Sorted(maps.Keys(s.state.reports)) {
		if r := s.state.reports[id]; condition(r) {
			found = append(found, reap.Item{LabID: r.LabID, ID: id})
		}
	}
	return found[:min(len(found), limit)], nil
}

func (s Reaps) Unadopted(_ context.Context, changedAfter time.Time, limit int) ([]reap.Item, error) {
	return s.reports(limit, func(r Report) bool {
		waits := s.state.openEpisode(r.ID) >= 0
		return !r.Dismissed && r.Status.Open() != waits && (waits || !r.ChangedAt.Before(changedAfter))
	})
}

func (s Reaps) Gone(_ context.Context, limit int) ([]reap.Item, error) {
	return s.reports(limit, func(r Report) bool { return r.Dismissed && s.state.openEpisode(r.ID) >= 0 })
}

func (s Reaps) Overdue(_ context.Context, now time.Time, limit int) ([]reap.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var bills []reap.Item
	for _, e := range s.waiting() {
		item := reap.Item{LabID: e.LabID, ID: s.state.reports[e.ReportID].BillID}
		if isDue(e, now) && !slices.Contains(bills, item) {
			bills = append(bills, item)
		}
	}
	return bills[:min(len(bills), limit)], nil
}

func (s Reaps) Upcoming(_ context.Context, after int64, limit int) ([]callout.Deadline, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	byBill := map[int64]callout.Deadline{}
	for _, e := range s.waiting() {
		bill := s.state.reports[e.ReportID].BillID
		if d := s.deadline(e.LabID, bill, s.clock.Now()); bill > after && !d.DueAt.IsZero() {
			byBill[bill] = d
		}
	}
	var list []callout.Deadline
	for _, bill := range slices.Sorted(maps.Keys(byBill)) {
		list = append(list, byBill[bill])
	}
	return list[:min(len(list), limit)], nil
}

func (s Reaps) Figures(_ context.Context, now time.Time) (f reap.Figures, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.state.episodes {
		if e.Closed {
			continue
		}
		f.Open++
		f.Oldest = max(f.Oldest, now.Sub(e.DetectedAt))
		if e.Level > 0 || e.Overdue(now) {
			f.Overdue++
		}
		if e.Level > 0 && e.DueAt.IsZero() {
			f.Exhausted++
		}
	}
	return f, nil
}
