package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

const episodeColumns = "SELECT e.id, e.lab_report_id, e.bill_id, e.detected_at, e.due_at, e.escalations, e.parameters," +
	" e.closed_at IS NOT NULL, e.adopted, e.notices_off, e.remind_at FROM callout_episode e"

func scanEpisode(r *sql.Rows) (e callout.Episode, err error) {
	var detected int64
	var due, remind sql.NullInt64
	var parameters []byte
	if err := r.Scan(
		&e.ID,
		&e.ReportID,
		&e.BillID,
		&detected,
		&due,
		&e.Level,
		&parameters,
		&e.Closed,
		&e.Adopted,
		&e.NoticesOff,
		&remind,
	); err != nil {
		return e, err
	}
	e.DetectedAt, e.DueAt, e.RemindAt = at(detected), atOrZero(due), atOrZero(remind)
	e.Parameters = readParameters(parameters)
	return e, nil
}

func atOrZero(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return at(ms.Int64)
}

// readParameters parses stored parameters. NULL, as stored for a wait without known values, and invalid JSON give nil.
func readParameters(stored []byte) (list []callout.Parameter) {
	if len(stored) == 0 || json.Unmarshal(stored, &list) != nil {
		return nil
	}
	return list
}

func parametersColumn(list []callout.Parameter) (sql.NullString, error) {
	if len(list) == 0 {
		return sql.NullString{}, nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return sql.NullString{}, fmt.Errorf("encode parameters: %T", list) // err is omitted, because it may quote a value
	}
	return sql.NullString{String: string(text), Valid: true}, nil
}

// openWait adds the wait of a report. The lock on the report's row ensures that there is at most one; the unique key
// would reject a second one.
func (l *locked) openWait(ctx context.Context, e *callout.Episode) error {
	parameters, err := parametersColumn(e.Parameters)
	if err != nil {
		return err
	}
	_, err = l.tx.ExecContext(ctx, "INSERT INTO callout_episode (lab_id, bill_id, lab_report_id, detected_at, due_at, remind_at,"+
		" escalations, parameters, adopted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", l.scope.LabID(), e.BillID, e.ReportID,
		e.DetectedAt.UnixMilli(), milliseconds(e.DueAt), milliseconds(e.RemindAt), e.Level, parameters, e.Adopted)
	return wrap("open wait", err)
}

// saveWait updates the wait. It keeps the mark of unsent notices, which is set on delivery.
func (l *locked) saveWait(ctx context.Context, e *callout.Episode) error {
	parameters, err := parametersColumn(e.Parameters)
	if err != nil {
		return err
	}
	_, err = l.tx.ExecContext(ctx, "UPDATE callout_episode SET parameters = ?, due_at = ?, remind_at = ?, escalations = ?"+
		" WHERE id = ? AND lab_id = ?", parameters, milliseconds(e.DueAt), milliseconds(e.RemindAt), e.Level, e.ID, l.scope.LabID())
	return wrap("save wait", err)
}

func (l *locked) closeWait(ctx context.Context, d *callout.Decision) error {
	_, err := l.tx.ExecContext(ctx, "UPDATE callout_episode SET closed_at = ?, closed_by = ?, due_at = NULL, remind_at = NULL"+
		" WHERE open_report_id = ? AND lab_id = ?", d.ClosedAt.UnixMilli(), d.ClosedBy, d.Report.ID, l.scope.LabID())
	return wrap("close wait", err)
}

func (s *Store) OfBill(ctx context.Context, scope authn.LabScope, billID int64) ([]int64, error) {
	if err := s.checkBill(ctx, s.db, scope, billID, ""); err != nil {
		return nil, err
	}
	var ids []int64
	err := each(
		ctx,
		s.db,
		"read reports of a bill",
		"SELECT id FROM labReportRelation WHERE labId_id = ? AND billId_id = ?"+
			" AND (dismissed = 0 OR EXISTS (SELECT 1 FROM callout_statement s WHERE s.lab_report_id = labReportRelation.id)) ORDER BY id",
		[]any{scope.LabID(), billID},
		scanIDs(&ids),
	)
	return ids, err
}
