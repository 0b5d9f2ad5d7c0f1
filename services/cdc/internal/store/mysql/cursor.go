package mysql

import (
	"context"
	"database/sql"
	"errors"
)

// reconcileCursor is the laboratory that was compared last.
const reconcileCursor = "reconcile"

const keepCursor = "INSERT INTO cdc_cursor (name, position) VALUES (?, ?) ON DUPLICATE KEY UPDATE position = VALUES(position)"

func (s *Store) Turn(ctx context.Context) (int64, error) {
	var lab int64
	err := s.db.QueryRowContext(ctx, "SELECT position FROM cdc_cursor WHERE name = ?", reconcileCursor).Scan(&lab)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return lab, s.fault(ctx, wrap("read cursor", err))
}

func (s *Store) SetTurn(ctx context.Context, lab int64) error {
	_, err := s.db.ExecContext(ctx, keepCursor, reconcileCursor, lab)
	return s.fault(ctx, wrap("keep cursor", err))
}

// stampPrefix is of the cursors that tell of which partitions the consumer group has committed offsets of its own.
const stampPrefix = "stamped:"

func (s *Store) Stamped(ctx context.Context, partition string) (stamped bool, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM cdc_cursor WHERE name = ?)", stampPrefix+partition).Scan(&stamped)
	return stamped, s.fault(ctx, wrap("read a stamp", err))
}

func (s *Store) SetStamped(ctx context.Context, partition string) error {
	_, err := s.db.ExecContext(ctx, keepCursor, stampPrefix+partition, 1)
	return s.fault(ctx, wrap("keep a stamp", err))
}
