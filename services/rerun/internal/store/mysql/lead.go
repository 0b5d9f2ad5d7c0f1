package mysql

import (
	"context"
	"database/sql"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/sweep"
)

// Lead implements sweep.Leader with a lock that ends with its connection.
func (s *Store) Lead(ctx context.Context, work func(context.Context) error) error {
	_, err := mysqldb.Lead(ctx, s.db, "sweep_rerun", func(ctx context.Context, _ *sql.Conn) error { return work(ctx) })
	return err
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
