package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/sweep"
)

// Lead implements sweep.Leader with a lock that ends with its connection.
func (s *Store) Lead(ctx context.Context, work func(context.Context) error) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return wrap("lead", err)
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	name, err := mysqldb.LockName(ctx, conn, "sweep_rerun")
	if err != nil {
		return wrap("lead", err)
	}
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", name).Scan(&got); err != nil || got.Int64 != 1 {
		return wrap("lead", err)
	}
	defer unlead(ctx, conn, name)
	return work(ctx)
}

// unlead gives the lock back; a connection on which that fails is dropped, and the lock with it.
func unlead(ctx context.Context, conn *sql.Conn, name string) {
	const enough = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), enough)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "DO RELEASE_LOCK(?)", name); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// OpenReports implements sweep.Reports; it crosses laboratories.
func (s *Store) OpenReports(ctx context.Context) ([]sweep.OpenReport, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT id, labId_id, sampleRedrawFlag FROM labReportRelation WHERE sampleRedrawFlag IN (?, ?)",
		rerun.Requested, rerun.Fulfilled)
	if err != nil {
		return nil, wrap("read open reports", err)
	}
	defer rows.Close()
	var reports []sweep.OpenReport
	for rows.Next() {
		var r sweep.OpenReport
		if err := rows.Scan(&r.ID, &r.LabID, &r.Flag); err != nil {
			return nil, wrap("read open reports", err)
		}
		reports = append(reports, r)
	}
	return reports, wrap("read open reports", rows.Err())
}

// Laboratories implements sweep.Reports.
func (s *Store) Laboratories(ctx context.Context) ([]int64, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT id FROM labs")
	if err != nil {
		return nil, wrap("read laboratories", err)
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, wrap("read laboratories", err)
		}
		ids = append(ids, id)
	}
	return ids, wrap("read laboratories", rows.Err())
}
