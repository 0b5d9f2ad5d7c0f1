package mysql

import (
	"context"
	"database/sql"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// Rows returns up to limit rows of a laboratory with ids above after, in ascending order: its current patients,
// including deleted ones. Patients who left have their rows in the new laboratory.
func (s *Store) Rows(ctx context.Context, scope authn.LabScope, after int64, limit int) ([]projection.Row, error) {
	return s.rows(ctx, "lab_id = ? AND user_id > ? ORDER BY user_id LIMIT ?", scope.LabID(), after, limit)
}

// RowsByID returns the rows of patients of any laboratory, ordered by id. Patients without a row or with only a stub
// are left out.
func (s *Store) RowsByID(ctx context.Context, userIDs []int64) ([]projection.Row, error) {
	if len(userIDs) == 0 {
		return nil, nil
	}
	return s.rows(ctx, "rev > 0 AND user_id IN ("+placeholders(len(userIDs))+") ORDER BY user_id", anys(userIDs)...)
}

func (s *Store) rows(ctx context.Context, condition string, args ...any) ([]projection.Row, error) {
	st, err := s.statements(ctx)
	if err != nil {
		return nil, s.fault(ctx, err)
	}
	rows, err := st.read(ctx, s.db, "WHERE "+condition, args)
	return rows, s.fault(ctx, err)
}

// Differences computes the rows of patients from one snapshot, without writing, and returns the patients whose stored
// row differs or is missing. A change still in the pipeline is a difference too, so the caller repeats the call to
// confirm it.
func (s *Store) Differences(ctx context.Context, userIDs []int64) ([]int64, error) {
	if len(userIDs) == 0 {
		return nil, nil
	}
	st, err := s.statements(ctx)
	if err != nil {
		return nil, s.fault(ctx, err)
	}
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, s.fault(ctx, wrap("begin", err))
	}
	defer func() { _ = tx.Rollback() }() // the transaction only reads
	different, err := st.differences(ctx, tx, userIDs)
	return different, s.fault(ctx, err)
}

func (s *statements) differences(ctx context.Context, q querier, userIDs []int64) ([]int64, error) {
	ids := anys(userIDs)
	rows, err := s.read(ctx, q, "WHERE user_id IN ("+placeholders(len(ids))+")", ids)
	if err != nil {
		return nil, err
	}
	stored := make(map[int64]projection.Row, len(rows))
	for _, row := range rows {
		stored[row.UserID] = row
	}
	sources, err := readSources(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	var different []int64
	for _, id := range userIDs {
		before := stored[id] // zero if there is none
		if row := s.row(id, &before, sources); row.LabID != 0 && !row.Equal(before) {
			different = append(different, id)
		}
	}
	return different, nil
}
