package mysql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// OpenEpisode implements evaluate.Locked. The unique key decides, not a look before.
func (l *locked) OpenEpisode(ctx context.Context, e callout.Episode) (int64, error) {
	var id int64
	err := l.tx.QueryRowContext(ctx, "SELECT id FROM callout_episode WHERE open_report_id = ?", e.ReportID).Scan(&id)
	if err == nil {
		return 0, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return 0, wrap("read episode", err)
	}
	// The report's row is locked, so nobody else opens one in between.
	result, err := l.tx.ExecContext(
		ctx,
		"INSERT INTO callout_episode (lab_id, bill_id, lab_report_id, detected_at) VALUES (?, ?, ?, ?)",
		l.scope.LabID(),
		e.BillID,
		e.ReportID,
		e.DetectedAt.UnixMilli(),
	)
	if err != nil {
		return 0, wrap("open episode", err)
	}
	id, err = result.LastInsertId()
	return id, wrap("open episode", err)
}

// CloseEpisode implements evaluate.Locked and save.Locked.
func (l *locked) CloseEpisode(ctx context.Context, reportID int64, at time.Time, by string) error {
	_, err := l.tx.ExecContext(
		ctx,
		"UPDATE callout_episode SET closed_at = ?, closed_by = ? WHERE open_report_id = ? AND lab_id = ?",
		at.UnixMilli(),
		by,
		reportID,
		l.scope.LabID(),
	)
	return wrap("close episode", err)
}

// Evaluated implements evaluate.Locked: it reads the rows as this transaction leaves them.
func (l *locked) Evaluated(ctx context.Context, reportIDs []int64) error {
	in, args := list(reportIDs)
	_, err := l.tx.ExecContext(ctx, "INSERT INTO callout_evaluation (lab_report_id, report_updated_on)"+
		" SELECT id, updatedOn FROM labReportRelation WHERE labId_id = ? AND id IN ("+in+")"+
		" ON DUPLICATE KEY UPDATE report_updated_on = VALUES(report_updated_on)", append([]any{l.scope.LabID()}, args...)...)
	return wrap("note evaluation", err)
}

// OfBill implements evaluate.Store.
func (s *Store) OfBill(ctx context.Context, scope authn.LabScope, billID int64) ([]int64, error) {
	if _, err := s.bill(ctx, s.db, scope, billID, ""); err != nil {
		return nil, err
	}
	var ids []int64
	err := each(
		ctx,
		s.db,
		"read reports of a bill",
		"SELECT id FROM labReportRelation WHERE labId_id = ? AND billId_id = ?"+
			" AND dismissed = 0 ORDER BY id",
		[]any{scope.LabID(), billID},
		scanIDs(&ids),
	)
	return ids, err
}

// Pace implements escalate.Locked.
func (l *locked) Pace(ctx context.Context) (callout.Pace, error) {
	return l.store.paceOf(ctx, l.tx, l.scope)
}

func (s *Store) paceOf(ctx context.Context, q querier, scope authn.LabScope) (callout.Pace, error) {
	pace := s.pace
	var minutes sql.NullInt64
	err := q.QueryRowContext(ctx, "SELECT escalate_after_minutes FROM callout_setting WHERE lab_id = ?", scope.LabID()).
		Scan(&minutes)
	if errors.Is(err, sql.ErrNoRows) {
		return pace, nil
	}
	if minutes.Int64 > 0 {
		pace.After = time.Duration(minutes.Int64) * time.Minute
	}
	return pace, wrap("read settings", err)
}

// RepeatWithin implements evaluate.Locked.
func (l *locked) RepeatWithin(ctx context.Context) (time.Duration, error) {
	var hours int64
	err := l.tx.QueryRowContext(ctx, "SELECT repeat_within_hours FROM callout_setting WHERE lab_id = ?", l.scope.LabID()).
		Scan(&hours)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return time.Duration(hours) * time.Hour, wrap("read settings", err)
}
