package memory

import (
	"context"
	"slices"

	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
)

func (s *Store) admits(a observe.Access, reportID int64) bool {
	r, ok := s.Reports[reportID]
	return ok && r.LabID == a.Lab.LabID() && (!a.OwnBills || r.DoctorID == a.DoctorID)
}

// SaveCount implements observe.Store.
func (s *Store) SaveCount(_ context.Context, a observe.Access, key observe.Key, c observe.Count) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.admits(a, key.ReportID) {
		return observe.ErrNoReport
	}
	c.Tallies = slices.Clone(c.Tallies)
	s.counts[key] = c
	return nil
}

// Counts implements observe.Store.
func (s *Store) Counts(_ context.Context, a observe.Access, reportID, testID int64) ([]observe.Count, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.admits(a, reportID) {
		return nil, observe.ErrNoReport
	}
	var list []observe.Count
	for observer := 1; observer <= observe.Observers; observer++ {
		if c, ok := s.counts[observe.Key{ReportID: reportID, TestID: testID, Observer: observer}]; ok {
			list = append(list, c)
		}
	}
	return list, nil
}
