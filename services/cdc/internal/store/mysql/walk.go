package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
)

// walkRow is the name of the row of the full resync of user_meta. Without the row, none is due.
const walkRow = "user_meta"

const restartWalk = "INSERT INTO cdc_walk (name, last_user_id, mark) VALUES (?, 0, ?)" +
	" ON DUPLICATE KEY UPDATE last_user_id = 0, mark = GREATEST(mark + 1, VALUES(mark))"

func (s *Store) Restart(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, restartWalk, walkRow, s.clock.Now().UnixMilli())
	return s.fault(ctx, wrap("restart walk", err))
}

func (s *Store) Position(ctx context.Context) (materialize.Position, bool, error) {
	var p materialize.Position
	err := s.db.QueryRowContext(ctx, "SELECT last_user_id, mark FROM cdc_walk WHERE name = ?", walkRow).
		Scan(&p.UserID, &p.Mark)
	if errors.Is(err, sql.ErrNoRows) {
		return p, false, nil
	}
	return p, err == nil, s.fault(ctx, wrap("read walk", err))
}

func (s *Store) Advance(
	ctx context.Context, from materialize.Position, userID int64,
) (materialize.Position, bool, error) {
	to := materialize.Position{UserID: userID, Mark: max(from.Mark+1, s.clock.Now().UnixMilli())}
	done, err := s.one(ctx,
		"UPDATE cdc_walk SET last_user_id = ?, mark = ? WHERE name = ? AND last_user_id = ? AND mark = ?", to.UserID, to.Mark,
		walkRow, from.UserID, from.Mark)
	return to, done, err
}

func (s *Store) Finish(ctx context.Context, at materialize.Position) (bool, error) {
	return s.one(ctx, "DELETE FROM cdc_walk WHERE name = ? AND last_user_id = ? AND mark = ?", walkRow, at.UserID, at.Mark)
}

// one executes a statement and reports whether it changed exactly one row.
func (s *Store) one(ctx context.Context, query string, args ...any) (bool, error) {
	result, err := s.db.ExecContext(ctx, query, args...)
	if err != nil {
		return false, s.fault(ctx, wrap("record walk", err))
	}
	n, err := result.RowsAffected()
	return n == 1, s.fault(ctx, wrap("record walk", err))
}
