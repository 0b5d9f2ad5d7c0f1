package mysql

import (
	"context"
	"database/sql"
	"strings"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

var sweepLock = mysqldb.Lock{Service: "rerun", Purpose: "sweep"}

// Locks are those of the service's loops.
func Locks() []mysqldb.Lock { return []mysqldb.Lock{outbox.Lock("rerun"), sweepLock} }

// Lead implements sweep.Leader with a lock that ends with its connection.
func (s *Store) Lead(ctx context.Context, work func(context.Context) error) error {
	_, err := mysqldb.Lead(ctx, s.db, sweepLock, work)
	return err
}

func (s *Store) Flags(ctx context.Context, scope authn.LabScope, ids []int64) (map[int64]rerun.Flag, error) {
	if len(ids) == 0 {
		return map[int64]rerun.Flag{}, nil
	}
	args := []any{scope.LabID()}
	for _, id := range ids {
		args = append(args, id)
	}
	return s.flags(ctx, "labId_id = ? AND id IN (?"+strings.Repeat(", ?", len(ids)-1)+")", args...)
}

func (s *Store) OpenReports(
	ctx context.Context, scope authn.LabScope, after int64, limit int,
) (map[int64]rerun.Flag, error) {
	return s.flags(ctx, "labId_id = ? AND sampleRedrawFlag IN (?, ?) AND id > ? ORDER BY id LIMIT ?",
		scope.LabID(), rerun.Requested, rerun.Fulfilled, after, limit)
}

func (s *Store) flags(ctx context.Context, condition string, args ...any) (map[int64]rerun.Flag, error) {
	query := "SELECT id, sampleRedrawFlag FROM labReportRelation WHERE " + condition
	flags := map[int64]rerun.Flag{}
	err := mysqldb.Each(ctx, s.db, query, args, func(rows *sql.Rows) error {
		var id int64
		var flag rerun.Flag
		err := rows.Scan(&id, &flag)
		flags[id] = flag
		return err
	})
	return flags, wrap("read flags", err)
}

func (s *Store) Laboratories(ctx context.Context) ([]int64, error) {
	return s.laboratories(ctx, "SELECT id FROM labs ORDER BY id")
}

func (s *Store) OpenLaboratories(ctx context.Context) ([]int64, error) {
	return s.laboratories(
		ctx,
		"SELECT DISTINCT labId_id FROM labReportRelation WHERE sampleRedrawFlag IN (?, ?) ORDER BY labId_id",
		rerun.Requested,
		rerun.Fulfilled,
	)
}

func (s *Store) laboratories(ctx context.Context, query string, args ...any) ([]int64, error) {
	ids, err := mysqldb.Collect(ctx, s.db, query, args, func(row mysqldb.Row, id *int64) error { return row.Scan(id) })
	return ids, wrap("read laboratories", err)
}
