package mysql

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/labplatform/labplatform/pkg/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// markMeta is the part of a log entry's meta that makes it a commit marker.
type markMeta struct {
	RerunID     string `json:"rerun_id"`
	RerunNumber int    `json:"rerun_number"`
	Requested   []int  `json:"requested_parameters"`
	Fingerprint string `json:"fingerprint"`
}

// Ledger reads what was committed since the last confirm or abort.
func (l *locked) Ledger(ctx context.Context) (rerun.Ledger, error) {
	var ledger rerun.Ledger
	err := l.entries(ctx, "category IN (?, ?) AND id > (SELECT COALESCE(MAX(id), 0) FROM ActivityLog"+
		" WHERE lab_id = ? AND labReportId = ? AND category IN (?, ?))",
		[]any{activitylog.RerunRequested, activitylog.RerunValuesReceived, l.scope.LabID(), l.report.ID, activitylog.RerunValuesConfirmed, activitylog.RerunCancelled},
		func(category activitylog.Category, meta []byte) {
			var m markMeta
			if json.Unmarshal(meta, &m) != nil || m.RerunID == "" { // entries of other writers are no markers
				return
			}
			mark := rerun.Mark{RerunID: m.RerunID, Number: m.RerunNumber, Requested: m.Requested, Fingerprint: m.Fingerprint}
			switch {
			case category == activitylog.RerunRequested:
				ledger.Requests = append(ledger.Requests, mark)
			case m.Fingerprint != "":
				ledger.Repetitions = append(ledger.Repetitions, mark)
			}
		})
	return ledger, err
}

// Archived returns the ids of all documents of the report that the activity log holds.
func (l *locked) Archived(ctx context.Context) (map[string]bool, error) {
	archived := map[string]bool{}
	err := l.entries(ctx, "category IN (?, ?, ?)", []any{activitylog.RerunValuesConfirmed, activitylog.RerunCancelled, activitylog.RerunFailed},
		func(_ activitylog.Category, meta []byte) {
			var s rerun.Snapshot
			if json.Unmarshal(meta, &s) != nil {
				return
			}
			records, values := s.IDs()
			for _, id := range append(records, values...) {
				archived[id] = true
			}
		})
	return archived, err
}

func (l *locked) entries(ctx context.Context, condition string, args []any, each func(activitylog.Category, []byte)) error {
	rows, err := l.tx.QueryContext(ctx, "SELECT category, meta FROM ActivityLog WHERE lab_id = ? AND labReportId = ? AND meta IS NOT NULL AND "+
		condition+" ORDER BY id", append([]any{l.scope.LabID(), l.report.ID}, args...)...)
	if err != nil {
		return wrap("read activity log", err)
	}
	defer rows.Close()
	for rows.Next() {
		var category activitylog.Category
		var meta []byte
		if err := rows.Scan(&category, &meta); err != nil {
			return fmt.Errorf("read activity log: %w", err)
		}
		each(category, meta)
	}
	return wrap("read activity log", rows.Err())
}
