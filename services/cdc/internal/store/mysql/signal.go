package mysql

import (
	"context"
	"time"
)

// Signal tells the connectors something: one row of cdc_signal. id is the caller's, at most 64 characters; the same id
// twice is one signal.
func (s *Store) Signal(ctx context.Context, id, kind, data string) error {
	_, err := s.db.ExecContext(
		ctx,
		"INSERT INTO cdc_signal (id, type, data) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE id = VALUES(id)",
		id,
		kind,
		data,
	)
	return s.fault(ctx, wrap("write signal", err))
}

// DeleteSignal removes a signal that was understood. Deleting says nothing to the connectors.
func (s *Store) DeleteSignal(ctx context.Context, id string) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM cdc_signal WHERE id = ?", id)
	return s.fault(ctx, wrap("delete signal", err))
}

// SweepWindows deletes up to limit of the rows that incremental snapshots left behind in cdc_signal and that were
// written before the given time. It returns how many there were.
func (s *Store) SweepWindows(ctx context.Context, before time.Time, limit int) (int64, error) {
	result, err := s.db.ExecContext(
		ctx,
		"DELETE FROM cdc_signal WHERE type IN ('snapshot-window-open', 'snapshot-window-close')"+
			" AND JSON_VALUE(data, '$.openWindowTimestamp') < ? LIMIT ?",
		before.UTC().Format(time.RFC3339),
		limit,
	)
	if err != nil {
		return 0, s.fault(ctx, wrap("sweep signals", err))
	}
	n, err := result.RowsAffected()
	return n, s.fault(ctx, wrap("sweep signals", err))
}
