package mysql

import (
	"context"
	"database/sql"
	"strings"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// Recompute creates missing stubs, locks the rows, reads the sources and writes the rows that changed, in one
// transaction.
//
// The locks are taken before the sources are read: a transaction that waited for a lock reads sources at least as new
// as those of the previous holder. After a deadlock, a lock timeout or a changed row the transaction is repeated.
func (s *Store) Recompute(ctx context.Context, targets []materialize.Target) (materialize.Summary, error) {
	st, err := s.statements(ctx)
	if err != nil {
		return materialize.Summary{}, s.fault(ctx, err)
	}
	var summary materialize.Summary
	err = mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		r := recomputation{statements: st, tx: tx, now: s.clock, targets: targets, ids: idsOf(targets)}
		summary, err = r.run(ctx)
		return err
	})
	if err != nil {
		return materialize.Summary{}, s.fault(ctx, wrap("compute user_meta", err))
	}
	return summary, nil
}

type recomputation struct {
	*statements
	tx      *sql.Tx
	now     clock.Clock
	targets []materialize.Target
	ids     []any
}

func (r *recomputation) run(ctx context.Context) (none materialize.Summary, err error) {
	if err := r.stubs(ctx); err != nil {
		return none, err
	}
	stored, err := r.lock(ctx)
	if err != nil {
		return none, err
	}
	sources, err := readSources(ctx, r.tx, r.ids)
	if err != nil {
		return none, err
	}
	early, err := early(ctx, r.tx, r.targets, sources)
	if err != nil {
		return none, err
	}
	rows, summary := r.compute(stored, sources)
	summary.Early = early
	return summary, r.write(ctx, r.tx, rows)
}

// stubs ensures that every patient has a row to lock. An assignment that changes nothing takes the lock without a
// binary log entry; INSERT IGNORE would cause deadlocks.
func (r *recomputation) stubs(ctx context.Context) error {
	_, err := r.tx.ExecContext(ctx, "INSERT INTO user_meta (user_id) VALUES (?)"+strings.Repeat(",(?)", len(r.ids)-1)+
		" ON DUPLICATE KEY UPDATE user_id=VALUES(user_id)", r.ids...)
	return wrap("lock patients", err)
}

func (r *recomputation) lock(ctx context.Context) (map[int64]*projection.Row, error) {
	// Without the hint, MySQL scans another index of a small table and locks rows of other patients, so that overlapping
	// batches deadlock.
	rows, err := r.read(ctx, r.tx,
		"FORCE INDEX (PRIMARY) WHERE user_id IN ("+placeholders(len(r.ids))+") ORDER BY user_id FOR UPDATE", r.ids)
	if err != nil {
		return nil, err
	}
	stored := make(map[int64]*projection.Row, len(rows))
	for i := range rows {
		stored[rows[i].UserID] = &rows[i]
	}
	return stored, nil
}

// compute returns the rows that are forced or differ from the stored ones.
func (r *recomputation) compute(
	stored map[int64]*projection.Row, sources *sourceRows,
) ([]written, materialize.Summary) {
	var rows []written
	var summary materialize.Summary
	now := r.now.Now()
	for _, t := range r.targets {
		before := stored[t.UserID]
		row := r.row(t.UserID, before, sources)
		if row.LabID == 0 || (row.Equal(*before) && !t.Force) { // a patient without a laboratory never existed
			summary.Equal++
			continue
		}
		row.Rev = projection.NextRev(before.Rev, now, t.IndexVersion)
		row.UpdatedAt = now.UnixMilli()
		rows = append(rows, written{row, t.SourceTime})
		summary.Written++
		if row.Capped() {
			summary.Capped++
		}
	}
	return rows, summary
}

// row computes one row with the columns of the current phase.
func (s *statements) row(userID int64, before *projection.Row, sources *sourceRows) projection.Row {
	row := projection.Compute(userID, *sources.of(userID), before)
	if !s.withName {
		return row.WithoutPerson()
	}
	return row
}

func idsOf(targets []materialize.Target) []any {
	ids := make([]any, len(targets))
	for i, t := range targets {
		ids[i] = t.UserID
	}
	return ids
}
