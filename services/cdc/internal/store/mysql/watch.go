package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cdc/internal/heartbeat"
)

// watchPrefix is the prefix of the names of cursors with the last number captured by a connector.
const watchPrefix = "watch:"

// CountUp writes the next number to the service's own row of cdc_heartbeat.
func (s *Store) CountUp(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, "INSERT INTO cdc_heartbeat (id, beat_at) VALUES (?, 1) ON DUPLICATE KEY UPDATE beat_at = beat_at + 1",
		heartbeat.WatchRow)
	return s.fault(ctx, wrap("count up", err))
}

// Seen stores a number captured by a connector, and reports whether the connector skipped numbers before it. If so, a
// jump is stored in the same transaction. Repeated numbers change nothing; number 1 starts a new count.
func (s *Store) Seen(ctx context.Context, connector string, number int64) (missing bool, err error) {
	err = mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		missing = false // reset in case the transaction is repeated
		var last int64
		err := tx.QueryRowContext(ctx, "SELECT position FROM cdc_cursor WHERE name = ? FOR UPDATE", watchPrefix+connector).Scan(&last)
		none := errors.Is(err, sql.ErrNoRows)
		first := none || number == 1
		switch {
		case err != nil && !none:
			return err
		case !first && number <= last:
			return nil
		}
		if missing = !first && number > last+1; missing {
			if _, err := tx.ExecContext(ctx, noteGap, jumpPrefix+connector, resumed); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, keepCursor, watchPrefix+connector, number)
		return err
	})
	return missing && err == nil, s.fault(ctx, wrap("note a number", err))
}
