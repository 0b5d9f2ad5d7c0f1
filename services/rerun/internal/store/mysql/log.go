package mysql

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// LogFailure writes an entry on a connection of its own: the transaction that failed is gone.
func (s *Store) LogFailure(ctx context.Context, scope authn.LabScope, reportID int64, entry rerun.Entry) error {
	_, err := appendLog(ctx, s.db, scope, rerun.Report{ID: reportID}, entry)
	return err
}

func appendLog(ctx context.Context, db execer, scope authn.LabScope, r rerun.Report, e rerun.Entry) (int64, error) {
	meta, err := json.Marshal(e.Meta)
	if err != nil {
		return 0, wrap("encode log meta", err)
	}
	result, err := db.ExecContext(ctx, "INSERT INTO ActivityLog (lab_id, category, log_context, labReportId, billId, labUserId, labUserName,"+
		" activityText, meta, activityDate) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		scope.LabID(), e.Category, rerun.LogContext, r.ID, sql.NullInt64{Int64: r.BillID, Valid: r.BillID != 0},
		e.Actor.ID, e.Actor.Name, e.Text, string(meta), e.At.UTC())
	if err != nil {
		return 0, wrap("append to activity log", err)
	}
	id, err := result.LastInsertId()
	return id, wrap("append to activity log", err)
}
