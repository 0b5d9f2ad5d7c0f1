package mysql

import (
	"context"
	"database/sql"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/sweep"
)

var sweepLock = mysqldb.Lock{Service: "rerun", Purpose: "sweep"}

// Locks returns the leader locks of the service's loops.
func Locks() []mysqldb.Lock { return []mysqldb.Lock{outbox.Lock("rerun"), sweepLock} }

// Lead calls work unless another process is the leader. The lock ends with its connection.
func (s *Store) Lead(ctx context.Context, work func(context.Context) error) error {
	_, err := mysqldb.Lead(ctx, s.db, sweepLock, work)
	return err
}

// States returns the flags of those reports that the laboratory has, with the digests of their announced values.
func (s *Store) States(ctx context.Context, scope authn.LabScope, ids []int64) (map[int64]sweep.State, error) {
	if len(ids) == 0 {
		return map[int64]sweep.State{}, nil
	}
	marks, args := mysqldb.In(ids, scope.LabID())
	return s.states(ctx, "r.labId_id = ? AND r.id IN ("+marks+")", args...)
}

// OpenReports returns at most limit reports with an open rerun, with the lowest ids above after.
func (s *Store) OpenReports(
	ctx context.Context, scope authn.LabScope, after int64, limit int,
) (map[int64]sweep.State, error) {
	return s.states(ctx, "r.labId_id = ? AND r.sampleRedrawFlag IN (?, ?) AND r.id > ? ORDER BY r.id LIMIT ?",
		scope.LabID(), rerun.Requested, rerun.Fulfilled, after, limit)
}

func (s *Store) states(ctx context.Context, condition string, args ...any) (map[int64]sweep.State, error) {
	query := "SELECT r.id, r.sampleRedrawFlag, COALESCE(u.as_of, 0), COALESCE(u.digest, '') FROM labReportRelation r" +
		" LEFT JOIN rerun_unconfirmed u ON u.lab_id = r.labId_id AND u.lab_report_id = r.id WHERE " + condition
	states := map[int64]sweep.State{}
	err := mysqldb.Each(ctx, s.db, query, args, func(rows *sql.Rows) error {
		var id int64
		var state sweep.State
		var asOf int64
		err := rows.Scan(&id, &state.Flag, &asOf, &state.Unconfirmed.Digest)
		if asOf > 0 {
			state.Unconfirmed.AsOf = time.UnixMicro(asOf).UTC()
		}
		states[id] = state
		return err
	})
	return states, wrap("read flags", err)
}

// maxForgotten is the maximum number of rows that one statement deletes.
const maxForgotten = 10_000

// Forget deletes the stored announcements of reports that have had no unconfirmed value since before.
func (s *Store) Forget(ctx context.Context, before time.Time) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM rerun_unconfirmed WHERE digest = '' AND as_of < ? LIMIT ?",
		before.UnixMicro(), maxForgotten)
	return wrap("forget announcements", err)
}

// Laboratories returns all laboratories, or those with an open rerun.
func (s *Store) Laboratories(ctx context.Context, open bool) ([]int64, error) {
	if !open {
		return s.laboratories(ctx, "SELECT id FROM labs ORDER BY id")
	}
	return s.laboratories(ctx, "SELECT DISTINCT labId_id FROM labReportRelation WHERE sampleRedrawFlag IN (?, ?)"+
		" ORDER BY labId_id", rerun.Requested, rerun.Fulfilled)
}

func (s *Store) laboratories(ctx context.Context, query string, args ...any) ([]int64, error) {
	ids, err := mysqldb.Collect(ctx, s.db, query, args, func(row mysqldb.Row, id *int64) error { return row.Scan(id) })
	return ids, wrap("read laboratories", err)
}
