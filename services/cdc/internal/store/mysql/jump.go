package mysql

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
)

// jumpPrefix is the prefix of rows in cdc_walk that store a jump: it is followed by the connector's name. The table
// also stores the full resync.
const jumpPrefix = "jump:"

// States of a jump. They are stored in the column for the last patient of a full resync.
const (
	toForget = 0 // the connector still has to abandon its position
	resumed  = 1 // it has abandoned its position, or is new: its next heartbeat ends the jump
)

const nowMillis = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000"

const (
	// noteGap stores a jump. The state of an existing one is kept.
	noteGap = "INSERT INTO cdc_walk (name, last_user_id, mark) VALUES (?, ?, " + nowMillis + ")" +
		" ON DUPLICATE KEY UPDATE mark = VALUES(mark)"
	noteJump = noteGap + ", last_user_id = VALUES(last_user_id)"
)

// Jump stores the jumps of all connectors in one transaction, because another supervisor continues only with stored
// ones.
func (s *Store) Jump(ctx context.Context, connectors []string) error {
	err := mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		for _, name := range connectors {
			if _, err := tx.ExecContext(ctx, noteJump, jumpPrefix+name, toForget); err != nil {
				return err
			}
		}
		return nil
	})
	return s.fault(ctx, wrap("note jumps", err))
}

// Jumped also deletes the last number captured by the connector, because a jump skips numbers.
func (s *Store) Jumped(ctx context.Context, connector string) error {
	err := mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM cdc_cursor WHERE name = ?", watchPrefix+connector); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, noteJump, jumpPrefix+connector, resumed)
		return err
	})
	return s.fault(ctx, wrap("note a jump", err))
}

func (s *Store) Jumping(ctx context.Context) (map[string]bool, error) {
	const query = "SELECT name FROM cdc_walk WHERE name LIKE ? AND last_user_id = ?"
	connectors := map[string]bool{}
	err := mysqldb.Each(ctx, s.db, query, []any{jumpPrefix + "%", toForget}, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		connectors[strings.TrimPrefix(name, jumpPrefix)] = true
		return err
	})
	return connectors, s.fault(ctx, wrap("read jumps", err))
}

func (s *Store) Landed(ctx context.Context, connector string, beatAt time.Time) (bool, error) {
	const landed = "name = ? AND last_user_id = ? AND mark < ?"
	args := []any{jumpPrefix + connector, resumed, beatAt.UnixMilli()}
	var waits bool
	err := s.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM cdc_walk WHERE "+landed+")", args...).Scan(&waits)
	if err != nil || !waits {
		return false, s.fault(ctx, wrap("read jumps", err))
	}
	ended, err := s.endJump(ctx, landed, args)
	return ended, s.fault(ctx, wrap("end a jump", err))
}

// endJump starts a full resync and deletes the jump in one transaction. It returns false if another process has done
// so.
func (s *Store) endJump(ctx context.Context, landed string, args []any) (bool, error) {
	ended := false
	err := mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, "DELETE FROM cdc_walk WHERE "+landed, args...)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if ended = n > 0; err != nil || !ended {
			return err
		}
		_, err = tx.ExecContext(ctx, restartWalk, walkRow, s.clock.Now().UnixMilli())
		return err
	})
	return ended && err == nil, err
}

// Behind reports whether a full resync or a jump is in progress. Until its end, the index lacks changes.
func (s *Store) Behind(ctx context.Context) (behind bool, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM cdc_walk)").Scan(&behind)
	return behind, s.fault(ctx, wrap("read walk", err))
}
