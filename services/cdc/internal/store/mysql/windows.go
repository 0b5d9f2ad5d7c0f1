package mysql

import (
	"context"
	"time"
)

// ClosedWindows returns how many chunks of incremental snapshots were read since the given time.
func (s *Store) ClosedWindows(ctx context.Context, since time.Time) (int, error) {
	var n int
	err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM cdc_signal WHERE type = 'snapshot-window-close'"+
		" AND JSON_VALUE(data, '$.openWindowTimestamp') >= ?", since.UTC().Format(time.RFC3339)).Scan(&n)
	return n, s.fault(ctx, wrap("count windows", err))
}
