package mysql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

const escalationColumns = "SELECT bill_id, is_open, started_at, due_at, level, job_id FROM callout_escalation WHERE lab_id = ? AND bill_id = ?"

// Escalation implements escalate.Clock. The row is made when it is missing, so that there is something to lock.
func (l *locked) Escalation(ctx context.Context, billID int64) (callout.Escalation, error) {
	_, err := l.tx.ExecContext(
		ctx,
		"INSERT INTO callout_escalation (bill_id, lab_id) VALUES (?, ?) ON DUPLICATE KEY UPDATE bill_id = VALUES(bill_id)",
		billID,
		l.scope.LabID(),
	)
	if err != nil {
		return callout.Escalation{}, wrap("make clock", err)
	}
	e, err := scanEscalation(l.tx.QueryRowContext(ctx, escalationColumns+" FOR UPDATE", l.scope.LabID(), billID), l.scope)
	return e, wrap("lock clock", err)
}

func scanEscalation(row *sql.Row, scope authn.LabScope) (callout.Escalation, error) {
	e := callout.Escalation{LabID: scope.LabID()}
	var started int64
	var due sql.NullInt64
	err := row.Scan(&e.BillID, &e.Open, &started, &due, &e.Level, &e.JobID)
	e.StartedAt = time.UnixMilli(started).UTC()
	if due.Valid {
		e.DueAt = time.UnixMilli(due.Int64).UTC()
	}
	return e, err
}

// SaveEscalation implements escalate.Clock. The job's id is the dispatcher's.
func (l *locked) SaveEscalation(ctx context.Context, e callout.Escalation) error {
	_, err := l.tx.ExecContext(ctx, "UPDATE callout_escalation SET is_open = ?, started_at = ?, due_at = ?, level = ?"+
		" WHERE bill_id = ? AND lab_id = ?", e.Open, e.StartedAt.UnixMilli(), milliseconds(e.DueAt), e.Level, e.BillID, l.scope.LabID())
	return wrap("save clock", err)
}

// Waiting implements escalate.Clock.
func (l *locked) Waiting(ctx context.Context, billID int64) ([]callout.Report, error) {
	var waiting []callout.Report
	err := each(
		ctx,
		l.tx,
		"read open callouts",
		"SELECT r.id, r.orgId_id FROM labReportRelation r WHERE r.labId_id = ? AND r.billId_id = ? AND "+
			open+" ORDER BY r.id",
		[]any{l.scope.LabID(), billID},
		func(r *sql.Rows) error {
			report := callout.Report{BillID: billID}
			if err := r.Scan(&report.ID, &report.OrgID); err != nil {
				return err
			}
			waiting = append(waiting, report)
			return nil
		},
	)
	return waiting, err
}

// Escalation implements delivery.Clocks: a look without a lock.
func (s *Store) Escalation(ctx context.Context, scope authn.LabScope, billID int64) (callout.Escalation, error) {
	e, err := scanEscalation(s.db.QueryRowContext(ctx, escalationColumns, scope.LabID(), billID), scope)
	if errors.Is(err, sql.ErrNoRows) {
		return callout.Escalation{LabID: scope.LabID(), BillID: billID}, nil
	}
	return e, wrap("read clock", err)
}

// NoteJob implements delivery.Clocks: the job of the task queue that wakes the service; empty when there is none.
func (s *Store) NoteJob(ctx context.Context, scope authn.LabScope, billID int64, jobID string) error {
	_, err := s.db.ExecContext(
		ctx,
		"UPDATE callout_escalation SET job_id = ? WHERE bill_id = ? AND lab_id = ?",
		jobID,
		billID,
		scope.LabID(),
	)
	return wrap("note job", err)
}
