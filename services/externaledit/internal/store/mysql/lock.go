package mysql

import (
	"context"
	"database/sql"
	"strconv"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/history"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

// lock runs work in a transaction that locks the report's row, the only lock of external editing, then commits.
func (s *Store) lock(ctx context.Context, scope authn.LabScope, reportID int64, work func(*locked) error) error {
	return mysqldb.Wrap("change report", mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) (err error) {
		l := &locked{tx: tx, scope: scope, store: s}
		if l.report, err = readReport(ctx, tx, scope, reportID, " FOR UPDATE"); err != nil {
			return err
		}
		return work(l)
	}))
}

// locked is a transaction that has locked the report's row.
type locked struct {
	store  *Store
	tx     *sql.Tx
	scope  authn.LabScope
	report session.Report
}

// Report returns the report as it was when the row was locked.
func (l *locked) Report() session.Report { return l.report }

// LinkFiles links the files to the report. It writes no other column, because other services write those.
func (l *locked) LinkFiles(ctx context.Context, f session.Files) error {
	_, err := l.tx.ExecContext(ctx,
		"UPDATE labReportRelation SET wordFilePath = ?, pdfFilePath = ? WHERE id = ? AND labId_id = ?",
		f.Word, f.PDF, l.report.ID, l.scope.LabID())
	return mysqldb.Wrap("link files", err)
}

// Emit writes an event to the outbox in the transaction.
func (l *locked) Emit(ctx context.Context, e session.Event) error {
	message, err := l.store.events(e)
	if err != nil {
		return err
	}
	_, err = l.store.outbox.Insert(ctx, l.tx, l.store.clock.Now(), message)
	return mysqldb.Wrap("emit event", err)
}

// logContext is the log_context of this service's entries in the activity log.
const logContext = "EXTERNAL_EDIT"

// Log appends to the activity log.
func (l *locked) Log(ctx context.Context, e activitylog.Entry) error {
	e.Context, e.ReportID, e.BillID = logContext, l.report.ID, l.report.BillID
	_, err := activitylog.Append(ctx, l.tx, l.scope, e)
	return mysqldb.Wrap("log", err)
}

// Once runs work unless the request was processed before.
func (l *locked) Once(
	ctx context.Context, r idempotency.Request, work func() (int64, error),
) (id int64, replayed bool, err error) {
	answer, replayed, err := l.store.keys.Once(ctx, l.tx, l.scope, l.store.clock.Now(), r,
		func() (idempotency.Response, error) {
			opened, err := work()
			return idempotency.Response{Body: []byte(strconv.FormatInt(opened, 10))}, err
		})
	if err != nil {
		return 0, false, err
	}
	id, err = strconv.ParseInt(string(answer.Body), 10, 64)
	return id, replayed, err
}

// Editing is the part of the store that package editing uses. A locked report exposes to each use case only what it may
// change.
type Editing struct{ *Store }

var _ editing.Reports = (*Editing)(nil)

func (s Editing) Lock(
	ctx context.Context, scope authn.LabScope, reportID int64, work func(editing.Locked) error,
) error {
	return s.lock(ctx, scope, reportID, func(l *locked) error { return work(l) })
}

// Uploads is the part of the store that package upload uses.
type Uploads struct{ *Store }

var _ upload.Reports = (*Uploads)(nil)

func (s Uploads) Lock(ctx context.Context, scope authn.LabScope, reportID int64, work func(upload.Locked) error) error {
	return s.lock(ctx, scope, reportID, func(l *locked) error { return work(l) })
}

// History is the part of the store that package history uses.
type History struct{ *Store }

var _ history.Reports = (*History)(nil)

func (s History) Lock(
	ctx context.Context, scope authn.LabScope, reportID int64, work func(history.Locked) error,
) error {
	return s.lock(ctx, scope, reportID, func(l *locked) error { return work(l) })
}
