package mysql

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/sweep"
)

var sweepLock = mysqldb.Lock{Service: "externaledit", Purpose: "sweep"}

// Locks returns the leader locks of the service's loops.
func Locks() []mysqldb.Lock { return []mysqldb.Lock{outbox.Lock("externaledit"), sweepLock} }

// Lead calls work unless another process is the leader.
func (s *Store) Lead(ctx context.Context, work func(context.Context) error) error {
	_, err := mysqldb.Lead(ctx, s.db, sweepLock, work)
	return err
}

// Expired returns reports of all laboratories whose session expired before now and was not closed.
func (s *Store) Expired(ctx context.Context, now time.Time, limit int) ([]sweep.Due, error) {
	const query = "SELECT lab_id, lab_report_id FROM external_edit_session" +
		" WHERE is_active = 1 AND expires_at <= ? ORDER BY expires_at LIMIT ?"
	expired, err := mysqldb.Collect(ctx, s.db, query, []any{now.UnixMilli(), limit},
		func(row mysqldb.Row, d *sweep.Due) error { return row.Scan(&d.LabID, &d.ReportID) })
	return expired, mysqldb.Wrap("read expired sessions", err)
}

// CloseOrphan closes the expired session of a report that was deleted. It needs no lock: without the report's row, no
// other process changes its sessions.
func (s *Store) CloseOrphan(ctx context.Context, scope authn.LabScope, reportID int64, now time.Time) (bool, error) {
	result, err := s.db.ExecContext(ctx, "UPDATE external_edit_session"+
		" SET is_active = 0, updated_at = ?, ended_at = ?, end_reason = ?"+
		" WHERE active_report_id = ? AND lab_id = ? AND expires_at <= ?"+
		" AND NOT EXISTS (SELECT 1 FROM labReportRelation WHERE id = ? AND labId_id = ?)",
		now.UnixMilli(), now.UnixMilli(), string(session.Expired), reportID, scope.LabID(), now.UnixMilli(),
		reportID, scope.LabID())
	if err != nil {
		return false, mysqldb.Wrap("close session of a deleted report", err)
	}
	n, err := result.RowsAffected()
	return n > 0, mysqldb.Wrap("close session of a deleted report", err)
}

// Stale returns uploads of all laboratories, with ids above after, that showed no progress since before.
func (s *Store) Stale(ctx context.Context, before time.Time, after int64, limit int) ([]session.Upload, error) {
	const query = "SELECT id, lab_id, session_id, revision, word_key, pdf_key, started_at FROM external_edit_upload" +
		" WHERE started_at < ? AND id > ? ORDER BY id LIMIT ?"
	stale, err := mysqldb.Collect(ctx, s.db, query, []any{before.UnixMilli(), after, limit},
		func(row mysqldb.Row, u *session.Upload) error {
			var started int64
			err := row.Scan(&u.ID, &u.LabID, &u.SessionID, &u.Number, &u.WordKey, &u.PDFKey, &started)
			u.StartedAt = moment(started)
			return err
		})
	return stale, mysqldb.Wrap("read stale uploads", err)
}

// ForgetKeys deletes idempotency keys that expired before now.
func (s *Store) ForgetKeys(ctx context.Context, now time.Time) (int64, error) {
	return s.keys.Sweep(ctx, s.db, now)
}
