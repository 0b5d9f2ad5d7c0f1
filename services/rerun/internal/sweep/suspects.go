package sweep

import (
	"context"

	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// place is a report with documents.
type place struct{ labID, reportID int64 }

// stale are the documents of one report that are old enough to be looked at.
type stale struct {
	records []rerun.Record
	values  []rerun.Value
}

// documents repairs the reports whose documents look wrong. Nothing is locked for those that look right.
func (s *Sweeper) documents(ctx context.Context, open map[int64]OpenReport) error {
	before := s.d.Clock.Now().Add(-s.d.Config.Age)
	records, err := s.d.Documents.StaleRecords(ctx, before)
	if err != nil {
		return err
	}
	values, err := s.d.Documents.StaleValues(ctx, before)
	if err != nil {
		return err
	}
	found := map[place]*stale{}
	at := func(labID, reportID int64) *stale {
		p := place{labID, reportID}
		if found[p] == nil {
			found[p] = &stale{}
		}
		return found[p]
	}
	for _, r := range records {
		at(r.LabID, r.ReportID).records = append(at(r.LabID, r.ReportID).records, r)
	}
	for _, v := range values {
		at(v.LabID, v.ReportID).values = append(at(v.LabID, v.ReportID).values, v)
	}
	s.forget(records)
	for p, documents := range found {
		if report, ok := open[p.reportID]; ok && report.LabID == p.labID && !s.suspicious(report.Flag, documents) {
			continue
		}
		if stopping := ctx.Err(); stopping != nil {
			return stopping
		}
		if err := s.repair(ctx, p, before); err != nil {
			s.d.Counters.Swept(Failed, 1)
			s.d.Log.Error("rerun documents not repaired", "lab_report_id", p.reportID, "error", err)
		}
	}
	return nil
}

// suspicious tells whether the documents of an open rerun may need repair: a record that was never judged, or a
// request whose values and slot do not fit the flag.
func (s *Sweeper) suspicious(flag rerun.Flag, d *stale) bool {
	for _, r := range d.records {
		if !s.settled[r.ID] {
			return true
		}
		fulfilled := r.Type != rerun.ByAnalyser && len(r.Pending(d.values)) == 0
		if fulfilled && (r.Active || flag == rerun.Requested) {
			return true
		}
	}
	return false
}

// forget keeps settled from growing: records that are gone need no memory.
func (s *Sweeper) forget(present []rerun.Record) {
	settled := make(map[string]bool, len(present))
	for _, r := range present {
		if s.settled[r.ID] {
			settled[r.ID] = true
		}
	}
	s.settled = settled
}

// cache repairs entries that contradict the flags.
func (s *Sweeper) cache(ctx context.Context, open map[int64]OpenReport) error {
	laboratories, err := s.d.Reports.Laboratories(ctx)
	if err != nil {
		return err
	}
	missing := make(map[int64]OpenReport, len(open))
	for id, r := range open {
		missing[id] = r
	}
	for _, labID := range laboratories {
		scope, err := scopeOf(labID)
		if err != nil {
			return err
		}
		entries, err := s.d.OpenSet.Entries(ctx, scope)
		if err != nil {
			return err
		}
		for _, id := range entries {
			if r, ok := open[id]; ok && r.LabID == labID {
				delete(missing, id)
				continue
			}
			s.recache(ctx, place{labID, id})
		}
	}
	for id, r := range missing {
		s.recache(ctx, place{r.LabID, id})
	}
	return nil
}
