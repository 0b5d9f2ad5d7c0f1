package sweep

import (
	"context"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// pageSize is the number of reports read at once.
const pageSize = 200

// suspect is a report that was read without a lock.
type suspect struct {
	State

	records []rerun.Record
	values  []rerun.Value
}

// documents repairs the reports whose documents may be inconsistent. It locks no other report.
func (l *laboratory) documents(ctx context.Context) error {
	before := l.d.Clock.Now().Add(-l.d.Config.Age)
	for after := int64(0); ; {
		ids, err := l.d.Documents.StaleReports(ctx, l.scope, before, after, pageSize)
		if err != nil {
			return fmt.Errorf("laboratory %d: %w", l.scope.LabID(), err)
		}
		if len(ids) == 0 {
			return nil
		}
		if err := l.page(ctx, ids, before); err != nil {
			return fmt.Errorf("laboratory %d: %w", l.scope.LabID(), err)
		}
		after = ids[len(ids)-1]
	}
}

func (l *laboratory) page(ctx context.Context, ids []int64, before time.Time) error {
	suspects, err := l.suspects(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !l.suspicious(suspects[id], before) {
			continue
		}
		if stopping := ctx.Err(); stopping != nil {
			return stopping
		}
		err := l.repair(ctx, id, before)
		if err != nil && !apperr.Is(err, apperr.NotFound) { // the documents of a deleted report are kept
			l.d.Counters.Swept(Failed, 1)
			l.d.Log.Error("rerun documents not repaired", "lab_report_id", id, "error", err)
		}
	}
	return nil
}

func (l *laboratory) suspects(ctx context.Context, ids []int64) (map[int64]*suspect, error) {
	states, err := l.d.Reports.States(ctx, l.scope, ids)
	if err != nil {
		return nil, err
	}
	suspects := make(map[int64]*suspect, len(ids))
	for _, id := range ids {
		suspects[id] = &suspect{State: states[id]}
	}
	records, err := l.d.Documents.OfReports(ctx, l.scope, ids)
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		suspects[r.ReportID].records = append(suspects[r.ReportID].records, r)
	}
	values, err := l.d.Documents.ValuesOfReports(ctx, l.scope, ids)
	for _, v := range values {
		suspects[v.ReportID].values = append(suspects[v.ReportID].values, v)
	}
	return suspects, err
}

// suspicious reports whether a report may need a repair: its rerun is closed, a record was never checked, a request has
// all its values at flag 3, or the values were not announced to the callout service.
func (l *laboratory) suspicious(s *suspect, before time.Time) bool {
	if !s.Flag.Open() {
		return true
	}
	if s.unannounced(before) {
		return true
	}
	for _, r := range s.records {
		if r.Foreign || !r.CreatedAt.Before(before) {
			continue
		}
		if !l.settled[r.ID] {
			return true
		}
		l.seen[r.ID] = true
		if s.Flag == rerun.Requested && r.Type != rerun.ByAnalyser && len(r.Pending(s.values)) == 0 {
			return true
		}
	}
	return false
}

// unannounced reports whether a value arrived after the last message to the callout service, or all values of that
// message are missing.
func (s *suspect) unannounced(before time.Time) bool {
	for _, v := range s.values {
		if v.CreatedAt.Before(before) && !v.CreatedAt.Before(s.Unconfirmed.AsOf) {
			return true
		}
	}
	return len(s.values) == 0 && s.Unconfirmed.Digest != ""
}

// cache repairs cache entries that contradict the flags.
func (l *laboratory) cache(ctx context.Context) error {
	entries, err := l.d.OpenSet.Entries(ctx, l.scope)
	if err != nil {
		return fmt.Errorf("laboratory %d: %w", l.scope.LabID(), err)
	}
	cached := make(map[int64]bool, len(entries))
	for _, id := range entries {
		cached[id] = true
	}
	for after := int64(0); ; {
		open, err := l.d.Reports.OpenReports(ctx, l.scope, after, pageSize)
		if err != nil {
			return fmt.Errorf("laboratory %d: %w", l.scope.LabID(), err)
		}
		for id := range open {
			if !cached[id] {
				l.recache(ctx, id)
			}
			delete(cached, id)
			after = max(after, id)
		}
		if len(open) < pageSize {
			break
		}
	}
	for id := range cached { // cached entries of reports without an open rerun
		l.recache(ctx, id)
	}
	return nil
}
