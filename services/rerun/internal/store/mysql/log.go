package mysql

import (
	"context"
	"database/sql"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/mysqldb"
)

// logContext is the log_context of all entries of this service.
const logContext = "SAMPLE_RERUN"

// Log appends to the activity log within the transaction and returns the id of the entry.
func (l *locked) Log(ctx context.Context, e activitylog.Entry) (int64, error) {
	e.Context, e.ReportID, e.BillID = logContext, l.report.ID, l.report.BillID
	id, err := activitylog.Append(ctx, l.tx, l.scope, e)
	return id, wrap("log", err)
}

// LogFailure writes an entry in a transaction of its own: the one that failed is gone.
func (s *Store) LogFailure(ctx context.Context, scope authn.LabScope, reportID int64, e activitylog.Entry) error {
	e.Context, e.ReportID = logContext, reportID
	err := mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		_, err := activitylog.Append(ctx, tx, scope, e)
		return err
	})
	return wrap("log failure", err)
}
