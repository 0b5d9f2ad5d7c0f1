package memory

import (
	"context"
	"slices"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/callout/internal/history"
)

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
