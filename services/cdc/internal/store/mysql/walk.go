package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
)

// walkRow keeps the walk over all patients in cdc_progress, beside the connectors: beat_at is the last patient that
// was computed, applied_at when that was. Without a row no walk is due.
const walkRow = "walk:user_meta"

// Restart implements materialize.Walks.
func (s *Store) Restart(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, "INSERT INTO cdc_progress (connector, beat_at, applied_at) VALUES (?, 0, ?)"+
		" ON DUPLICATE KEY UPDATE beat_at = 0, applied_at = GREATEST(applied_at + 1, VALUES(applied_at))", walkRow, s.clock.Now().UnixMilli())
	return s.fault(ctx, wrap("restart walk", err))
}

// Position implements materialize.Walks.
func (s *Store) Position(ctx context.Context) (materialize.Position, bool, error) {
	var p materialize.Position
	err := s.db.QueryRowContext(ctx, "SELECT beat_at, applied_at FROM cdc_progress WHERE connector = ?", walkRow).
		Scan(&p.UserID, &p.Mark)
	if errors.Is(err, sql.ErrNoRows) {
		return p, false, nil
	}
	return p, err == nil, s.fault(ctx, wrap("read walk", err))
}

// Advance implements materialize.Walks.
func (s *Store) Advance(
	ctx context.Context,
	from materialize.Position,
	userID int64,
) (materialize.Position, bool, error) {
	to := materialize.Position{UserID: userID, Mark: max(from.Mark+1, s.clock.Now().UnixMilli())}
	done, err := s.one(
		ctx,
		"UPDATE cdc_progress SET beat_at = ?, applied_at = ? WHERE connector = ? AND beat_at = ? AND applied_at = ?",
		to.UserID,
		to.Mark,
		walkRow,
		from.UserID,
		from.Mark,
	)
	return to, done, err
}

// Finish implements materialize.Walks.
func (s *Store) Finish(ctx context.Context, at materialize.Position) (bool, error) {
	return s.one(
		ctx,
		"DELETE FROM cdc_progress WHERE connector = ? AND beat_at = ? AND applied_at = ?",
		walkRow,
		at.UserID,
		at.Mark,
	)
}

// one runs a statement and tells whether it found its row.
func (s *Store) one(ctx context.Context, query string, args ...any) (bool, error) {
	result, err := s.db.ExecContext(ctx, query, args...)
	if err != nil {
		return false, s.fault(ctx, wrap("record walk", err))
	}
	n, err := result.RowsAffected()
	return n == 1, s.fault(ctx, wrap("record walk", err))
}
