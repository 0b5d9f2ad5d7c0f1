package mysql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/settings"
)

func (s *Store) settings(ctx context.Context, q querier, scope authn.LabScope) (callout.Settings, error) {
	held := s.defaults
	var minutes, most, readBack, remind sql.NullInt64
	var hours int64
	err := q.QueryRowContext(ctx, "SELECT escalate_after_minutes, escalate_most, read_back_needed, repeat_within_hours,"+
		" remind_hours FROM callout_setting WHERE lab_id = ?", scope.LabID()).Scan(&minutes, &most, &readBack, &hours, &remind)
	if errors.Is(err, sql.ErrNoRows) {
		return held, nil
	}
	if minutes.Int64 > 0 {
		held.After = time.Duration(minutes.Int64) * time.Minute
	}
	if most.Int64 > 0 {
		held.Most = int(most.Int64)
	}
	held.ReadBackNeeded = !readBack.Valid || readBack.Int64 != 0
	if remind.Valid {
		held.RemindAfter = time.Duration(remind.Int64) * time.Hour
	}
	held.RepeatWithin = time.Duration(hours) * time.Hour
	return held, wrap("read settings", err)
}

func (s *Store) Settings(ctx context.Context, scope authn.LabScope) (callout.Settings, error) {
	return s.settings(ctx, s.db, scope)
}

// lockedSettings is a transaction that holds the lock on a laboratory's settings.
type lockedSettings struct {
	*locked
	own settings.Own
}

var _ settings.Locked = (*lockedSettings)(nil)

func (l *lockedSettings) Own() settings.Own { return l.own }

func (s *Store) LockSettings(ctx context.Context, scope authn.LabScope, work func(settings.Locked) error) error {
	return s.inTx(ctx, "change settings", scope, func(l *locked) error {
		_, err := l.tx.ExecContext(
			ctx,
			"INSERT INTO callout_setting (lab_id) VALUES (?) ON DUPLICATE KEY UPDATE lab_id = VALUES(lab_id)",
			scope.LabID(),
		)
		if err != nil {
			return wrap("make settings", err)
		}
		held := &lockedSettings{locked: l}
		o := &held.own
		err = l.tx.QueryRowContext(ctx, "SELECT escalate_after_minutes, escalate_most, read_back_needed, repeat_within_hours,"+
			" remind_hours FROM callout_setting WHERE lab_id = ? FOR UPDATE", scope.LabID()).
			Scan(&o.EscalateMinutes, &o.EscalateMost, &o.ReadBackNeeded, &o.RepeatWithinHours, &o.RemindHours)
		if err != nil {
			return wrap("lock settings", err)
		}
		return work(held)
	})
}

func (l *lockedSettings) Save(ctx context.Context, o settings.Own) error {
	hours := 0
	if o.RepeatWithinHours != nil {
		hours = *o.RepeatWithinHours
	}
	_, err := l.tx.ExecContext(ctx, "UPDATE callout_setting SET escalate_after_minutes = ?, escalate_most = ?,"+
		" read_back_needed = ?, repeat_within_hours = ?, remind_hours = ? WHERE lab_id = ?", o.EscalateMinutes, o.EscalateMost,
		o.ReadBackNeeded, hours, o.RemindHours,
		l.scope.LabID())
	return wrap("save settings", err)
}

func (s *Store) Administers(ctx context.Context, scope authn.LabScope, labUserID int64) (admin bool, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT isAdmin FROM labUser WHERE id = ? AND labId_id = ?", labUserID, scope.LabID()).
		Scan(&admin)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return admin, wrap("read user", err)
}

// suppressedFor is how long after its suppression a call is evaluated again when settings change.
const suppressedFor = 14 * 24 * time.Hour

func (s *Store) WaitingReports(ctx context.Context, scope authn.LabScope) (ids []int64, err error) {
	err = each(ctx, s.db, "read waiting reports", "SELECT open_report_id FROM callout_episode WHERE lab_id = ? AND open_report_id"+
		" IS NOT NULL UNION SELECT s.lab_report_id FROM callout_statement s WHERE s.lab_id = ? AND s.kind = 'suppression' AND s.said_at >= ?",
		[]any{scope.LabID(), scope.LabID(), s.clock.Now().Add(-suppressedFor).UnixMicro()}, scanIDs(&ids))
	return ids, err
}
