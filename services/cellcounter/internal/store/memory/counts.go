package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
)

// Observe is the store as observe.Store.
type Observe struct{ *Store }

var _ observe.Store = (*Observe)(nil)

func (s *Store) report(a observe.Access, reportID int64) (observe.Report, error) {
	r, ok := s.Reports[reportID]
	if !ok || r.LabID != a.Lab.LabID() || a.OwnBills && r.DoctorID != a.DoctorID {
		return observe.Report{}, observe.ErrNoReport
	}
	return r.Report, nil
}

func (s Observe) Lock(_ context.Context, a observe.Access, reportID int64, work func(observe.Locked) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	report, err := s.report(a, reportID)
	if err != nil {
		return err
	}
	l := &counted{store: s.Store, report: report, counts: maps.Clone(s.counts), log: slices.Clip(s.log)}
	if err := work(l); err != nil {
		return err
	}
	s.counts, s.log = l.counts, l.log
	return nil
}

func (s Observe) Counts(_ context.Context, a observe.Access, reportID, testID int64) ([]observe.Count, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.report(a, reportID); err != nil {
		return nil, err
	}
	return ofReport(s.counts, reportID, testID), nil
}

// Entries returns the activity log.
func (s Observe) Entries() []activitylog.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

func ofReport(counts map[observe.Key]observe.Count, reportID, testID int64) []observe.Count {
	var list []observe.Count
	for observer := 1; observer <= observe.Observers; observer++ {
		if c, ok := counts[observe.Key{ReportID: reportID, TestID: testID, Observer: observer}]; ok {
			list = append(list, c)
		}
	}
	return list
}

// counted implements observe.Locked on a copy that Lock keeps when the work succeeds.
type counted struct {
	store  *Store
	report observe.Report
	counts map[observe.Key]observe.Count
	log    []activitylog.Entry
}

var _ observe.Locked = (*counted)(nil)

func (l *counted) Report() observe.Report { return l.report }

func (l *counted) Counts(_ context.Context, testID int64) ([]observe.Count, error) {
	return ofReport(l.counts, l.report.ID, testID), nil
}

func (l *counted) KnownCells(_ context.Context, ids []int64) (map[int64]bool, error) {
	known := map[int64]bool{}
	for _, id := range ids {
		if _, ok := l.store.CellsByID[id]; ok {
			known[id] = true
		}
	}
	return known, nil
}

func (l *counted) Put(_ context.Context, testID int64, c observe.Count) error {
	c.Tallies = slices.Clone(c.Tallies)
	l.counts[observe.Key{ReportID: l.report.ID, TestID: testID, Observer: c.Observer}] = c
	return nil
}

func (l *counted) Log(_ context.Context, e activitylog.Entry) error {
	l.log = append(l.log, e)
	return nil
}
