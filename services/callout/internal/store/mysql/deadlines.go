package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// due is the condition of waits (alias e) whose deadline or reminder has passed or was never set. Arguments: the
// present time, twice.
const due = "(e.due_at <= ? OR e.remind_at <= ? OR e.due_at IS NULL AND e.escalations = 0)"

func (s *Store) DueOfBill(ctx context.Context, scope authn.LabScope, billID int64) (ids []int64, err error) {
	now := s.clock.Now().UnixMilli()
	err = each(ctx, s.db, "find due reports", "SELECT r.id FROM callout_episode e JOIN labReportRelation r ON r.id = e.open_report_id"+
		" WHERE r.labId_id = ? AND r.billId_id = ? AND "+open+" AND "+due+" ORDER BY r.id",
		[]any{scope.LabID(), billID, now, now}, scanIDs(&ids))
	return ids, err
}

// Deadline returns the earliest deadline of a bill. It takes no lock.
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

// NoteJob stores the id of the task queue job that wakes the service for a bill; empty if there is none.
func (s *Store) NoteJob(ctx context.Context, scope authn.LabScope, billID int64, jobID string) error {
	_, err := s.db.ExecContext(ctx, "INSERT INTO callout_escalation (bill_id, lab_id, job_id) VALUES (?, ?, ?)"+
		" ON DUPLICATE KEY UPDATE job_id = VALUES(job_id)", billID, scope.LabID(), jobID)
	return wrap("note job", err)
}
