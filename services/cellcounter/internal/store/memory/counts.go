package memory

import (
	"context"
	"slices"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
)

// SaveCount implements observe.Store.
func (s *Store) SaveCount(_ context.Context, lab authn.LabScope, key observe.Key, c observe.Count) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Reports[key.ReportID] != lab.LabID() {
		return observe.ErrNoReport
	}
	c.Tallies = slices.Clone(c.Tallies)
	s.counts[key] = c
	return nil
}

// Counts implements observe.Store.
func (s *Store) Counts(_ context.Context, lab authn.LabScope, reportID, testID int64) ([]observe.Count, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Reports[reportID] != lab.LabID() {
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
