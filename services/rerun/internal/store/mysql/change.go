package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Read returns the facts about a report. It takes no lock.
func (s *Store) Read(ctx context.Context, scope authn.LabScope, id int64, wants rerun.Wants) (rerun.Facts, error) {
	r := reader{q: s.db, scope: scope, now: s.clock.Now()}
	return r.load(ctx, id, wants)
}

// Change locks the report, reads the facts, calls decide and applies its decision in one transaction. decide may be
// called again after a deadlock.
func (s *Store) Change(
	ctx context.Context, scope authn.LabScope, reportID int64, wants rerun.Wants,
	decide func(rerun.Facts) (rerun.Change, error),
) error {
	var report rerun.Report
	load := func(tx *sql.Tx) (rerun.Facts, error) {
		r := reader{q: tx, scope: scope, now: s.clock.Now(), suffix: " FOR UPDATE"}
		f, err := r.load(ctx, reportID, wants)
		report = f.Report
		return f, err
	}
	apply := func(tx *sql.Tx, c rerun.Change) error { return (&writer{s, tx, scope, report}).apply(ctx, c) }
	_, err := mysqldb.Change(ctx, s.db, load, decide, apply)
	return wrap("change report", err)
}

// writer applies a decision to a locked report.
type writer struct {
	*Store

	tx     *sql.Tx
	scope  authn.LabScope
	report rerun.Report
}

func (w *writer) apply(ctx context.Context, c rerun.Change) error {
	if c.Flag != nil && *c.Flag != w.report.Flag {
		if err := w.setFlag(ctx, *c.Flag); err != nil {
			return err
		}
	}
	if c.Unsign {
		if err := w.unsign(ctx); err != nil {
			return err
		}
	}
	if err := w.replace(ctx, c.Gone, c.Confirmed); err != nil {
		return err
	}
	logID, err := w.log(ctx, c.Entry)
	if err != nil {
		return err
	}
	return w.send(ctx, c, logID)
}

// setFlag changes the flag and no other column, because other services write the row as well.
func (w *writer) setFlag(ctx context.Context, to rerun.Flag) error {
	result, err := w.tx.ExecContext(ctx, "UPDATE labReportRelation SET sampleRedrawFlag = ?"+
		" WHERE id = ? AND labId_id = ? AND sampleRedrawFlag = ?", to, w.report.ID, w.scope.LabID(), w.report.Flag)
	if err != nil {
		return wrap("set flag", err)
	}
	n, err := result.RowsAffected()
	if err == nil && n != 1 {
		return fmt.Errorf("set flag: %d rows changed under the lock, want 1", n)
	}
	return wrap("set flag", err)
}

// unsign clears the signature.
func (w *writer) unsign(ctx context.Context) error {
	_, err := w.tx.ExecContext(ctx, "UPDATE labReportRelation SET isSigned = 0, isApproved = 0"+
		" WHERE id = ? AND labId_id = ?", w.report.ID, w.scope.LabID())
	return wrap("clear signature", err)
}

// replace deletes the rows of gone and inserts those of confirmed.
func (w *writer) replace(ctx context.Context, gone, confirmed []rerun.Result) error {
	if len(gone) > 0 {
		ids := make([]int64, len(gone))
		for i, r := range gone {
			ids[i] = r.ID
		}
		marks, args := mysqldb.In(ids, w.report.ID)
		_, err := w.tx.ExecContext(ctx, "DELETE FROM reportValues WHERE labReportId_id = ? AND id IN ("+marks+")", args...)
		if err != nil {
			return wrap("delete report values", err)
		}
	}
	if len(confirmed) == 0 {
		return nil
	}
	const row = "(?, ?, ?, ?, ?, ?, ?, ?, ?)"
	var args []any
	for _, r := range confirmed {
		args = append(args, w.report.ID, w.report.ID, r.ProfileTestID, r.Index, r.Order, r.ParameterName, r.Value,
			r.Highlight, r.Automated)
	}
	_, err := w.tx.ExecContext(ctx, "INSERT INTO reportValues (labReportId_id, reportForId_id, profileTestId, `index`,"+
		" `order`, parameter_name, value, highlight, automatedValue) VALUES "+row+strings.Repeat(", "+row, len(confirmed)-1), args...)
	return wrap("insert report values", err)
}

// logContext is the log_context of all entries of this service.
const logContext = "SAMPLE_RERUN"

func (w *writer) log(ctx context.Context, e *activitylog.Entry) (id int64, err error) {
	if e == nil {
		return 0, nil
	}
	entry := *e
	entry.Context, entry.ReportID, entry.BillID = logContext, w.report.ID, w.report.BillID
	id, err = activitylog.Append(ctx, w.tx, w.scope, entry)
	return id, wrap("log", err)
}

// send writes the messages to the outbox in the transaction, and stores what the callout service is told.
func (w *writer) send(ctx context.Context, c rerun.Change, logID int64) error {
	if c.Announce != nil {
		_, err := w.tx.ExecContext(ctx, "INSERT INTO rerun_unconfirmed (lab_id, lab_report_id, as_of, digest)"+
			" VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE as_of = VALUES(as_of), digest = VALUES(digest)",
			w.scope.LabID(), w.report.ID, c.Announce.AsOf.UnixMicro(), c.Announce.Digest)
		if err != nil {
			return wrap("store unconfirmed values", err)
		}
		event, err := w.messages.Unconfirmed(w.scope, w.report.ID, *c.Announce)
		if err := w.insert(ctx, event, err); err != nil {
			return err
		}
	}
	if !c.Evaluate {
		return nil
	}
	event, err := w.messages.Evaluation(w.scope, w.report.ID, logID)
	return w.insert(ctx, event, err)
}

func (w *writer) insert(ctx context.Context, e outbox.Event, err error) error {
	if err != nil {
		return err
	}
	_, err = w.outbox.Insert(ctx, w.tx, w.clock.Now(), e)
	return wrap("send", err)
}

// LogFailure writes a log entry in a transaction of its own, because the failed one was rolled back.
func (s *Store) LogFailure(ctx context.Context, scope authn.LabScope, reportID int64, e activitylog.Entry) error {
	e.Context, e.ReportID = logContext, reportID
	err := mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		_, err := activitylog.Append(ctx, tx, scope, e)
		return err
	})
	return wrap("log failure", err)
}
