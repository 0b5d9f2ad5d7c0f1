package mysql

import (
	"context"
	"database/sql"

	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Ledger reads what was committed since the last confirm or abort.
func (l *locked) Ledger(ctx context.Context) (rerun.Ledger, error) {
	var ledger rerun.Ledger
	err := l.entries(ctx, "category IN (?, ?) AND id > (SELECT COALESCE(MAX(id), 0) FROM ActivityLog"+
		" WHERE lab_id = ? AND labReportId = ? AND category IN (?, ?))",
		[]any{activitylog.RerunRequested, activitylog.RerunValuesReceived, l.scope.LabID(), l.report.ID,
			activitylog.RerunValuesConfirmed, activitylog.RerunCancelled},
		ledger.Note)
	return ledger, err
}

// Archived returns the ids of all documents of the report that the activity log holds.
func (l *locked) Archived(ctx context.Context) (map[string]bool, error) {
	archived := map[string]bool{}
	err := l.entries(ctx, "category IN (?, ?, ?)", []any{activitylog.RerunValuesConfirmed, activitylog.RerunCancelled,
		activitylog.RerunFailed},
		func(_ activitylog.Category, meta []byte) {
			for _, id := range rerun.ArchivedIn(meta) {
				archived[id] = true
			}
		})
	return archived, err
}

func (l *locked) entries(
	ctx context.Context, condition string, args []any, each func(activitylog.Category, []byte),
) error {
	query := "SELECT category, meta FROM ActivityLog WHERE lab_id = ? AND labReportId = ? AND meta IS NOT NULL AND " +
		condition + " ORDER BY id"
	args = append([]any{l.scope.LabID(), l.report.ID}, args...)
	return wrap("read activity log", mysqldb.Each(ctx, l.tx, query, args, func(rows *sql.Rows) error {
		var category activitylog.Category
		var meta []byte
		if err := rows.Scan(&category, &meta); err != nil {
			return err
		}
		each(category, meta)
		return nil
	}))
}
