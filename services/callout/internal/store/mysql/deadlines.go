package mysql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// due is the condition of episodes e whose deadline has passed, or was never set. Argument: the moment.
const due = "(e.due_at <= ? OR e.due_at IS NULL AND e.escalations = 0)"

// Due implements escalate.Locked. Reports are locked by id, as everybody locks them.
func (l *locked) Due(ctx context.Context, billID int64, now time.Time) ([]callout.Episode, error) {
	const joined = " FROM callout_episode e JOIN labReportRelation r ON r.id = e.open_report_id"
	condition := " WHERE r.labId_id = ? AND r.billId_id = ? AND " + open + " AND " + due + " ORDER BY r.id"
	args := []any{l.scope.LabID(), billID, now.UnixMilli()}
	var ids []int64
	if err := each(ctx, l.tx, "find due reports", "SELECT r.id"+joined+condition, args, scanIDs(&ids)); err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, nil
	}
	if err := l.lockReports(ctx, ids); err != nil {
		return nil, err
	}
	var episodes []callout.Episode
	err := each(
		ctx,
		l.tx,
		"read deadlines",
		episodeColumns+" JOIN labReportRelation r ON r.id = e.open_report_id"+condition,
		args,
		func(r *sql.Rows) error {
			e, err := scanEpisode(r)
			episodes = append(episodes, e)
			return err
		},
	)
	return episodes, err
}

func (l *locked) SaveDeadline(ctx context.Context, e callout.Episode) error {
	_, err := l.tx.ExecContext(ctx, "UPDATE callout_episode SET due_at = ?, escalations = ? WHERE id = ? AND lab_id = ?",
		milliseconds(e.DueAt), e.Level, e.ID, l.scope.LabID())
	return wrap("save deadline", err)
}

func (l *locked) EndGone(ctx context.Context, reportIDs []int64, now time.Time) ([]int64, error) {
	in, args := list(reportIDs)
	from := " callout_episode e LEFT JOIN labReportRelation r ON r.id = e.lab_report_id"
	where := " WHERE e.open_report_id IN (" + in + ") AND e.lab_id = ? AND " + gone
	args = append(args, l.scope.LabID())
	var bills []int64
	err := each(ctx, l.tx, "find episodes", "SELECT IFNULL(r.billId_id, e.bill_id) FROM"+from+where, args, scanIDs(&bills))
	if err != nil || len(bills) == 0 {
		return nil, err
	}
	_, err = l.tx.ExecContext(ctx, "UPDATE"+from+" SET e.closed_at = ?, e.closed_by = 'gone', e.due_at = NULL"+where,
		append([]any{now.UnixMilli()}, args...)...)
	return bills, wrap("end episodes", err)
}

func (l *locked) MarkNoticesOff(ctx context.Context, billID int64) error {
	_, err := l.tx.ExecContext(ctx, "UPDATE callout_episode e JOIN labReportRelation r ON r.id = e.open_report_id"+
		" SET e.notices_off = 1 WHERE r.labId_id = ? AND r.billId_id = ?", l.scope.LabID(), billID)
	return wrap("mark notices", err)
}

// Deadline implements delivery.Deadlines: a look without a lock.
func (s *Store) Deadline(ctx context.Context, scope authn.LabScope, billID int64) (callout.Deadline, error) {
	d := callout.Deadline{LabID: scope.LabID(), BillID: billID}
	var dueAt sql.NullInt64
	err := s.db.QueryRowContext(ctx, "SELECT MIN(e.due_at) FROM labReportRelation r JOIN callout_episode e ON"+
		" e.open_report_id = r.id WHERE r.labId_id = ? AND r.billId_id = ? AND "+open, scope.LabID(), billID).Scan(&dueAt)
	if err != nil {
		return d, wrap("read deadline", err)
	}
	d.DueAt = atOrZero(dueAt)
	err = s.db.QueryRowContext(ctx, "SELECT job_id FROM callout_escalation WHERE lab_id = ? AND bill_id = ?", scope.LabID(),
		billID).
		Scan(&d.JobID)
	if errors.Is(err, sql.ErrNoRows) {
		return d, nil
	}
	return d, wrap("read job", err)
}

// NoteJob implements delivery.Deadlines: the job of the task queue that wakes the service; empty when there is none.
func (s *Store) NoteJob(ctx context.Context, scope authn.LabScope, billID int64, jobID string) error {
	_, err := s.db.ExecContext(ctx, "INSERT INTO callout_escalation (bill_id, lab_id, job_id) VALUES (?, ?, ?)"+
		" ON DUPLICATE KEY UPDATE job_id = VALUES(job_id)", billID, scope.LabID(), jobID)
	return wrap("note job", err)
}
