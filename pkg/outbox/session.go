package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
)

// parkedAt is the available_at of parked rows.
const parkedAt = math.MaxInt64

// session is the leader's connection, which all lanes share. A leader that has lost it can no longer write.
type session struct {
	table  string
	leader *mysqldb.Leader
}

// due returns rows of a kind that may be delivered now. A row is not due while an earlier row of its kind and aggregate
// waits, whether that one is due or not; at most one row of an aggregate is therefore being delivered.
func (s *session) due(ctx context.Context, kind string, now time.Time, limit int) (due []Row, err error) {
	err = s.leader.Do(ctx, func(ctx context.Context, conn *sql.Conn) error {
		due, err = s.read(ctx, conn, kind, now, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.table, err)
	}
	return due, nil
}

func (s *session) read(
	ctx context.Context, conn *sql.Conn, kind string, now time.Time, limit int,
) ([]Row, error) {
	query := "SELECT o.id, o.aggregate, o.kind, o.payload, o.created_at, o.attempts, o.traceparent, o.request_id" +
		" FROM " + s.table + " o WHERE o.kind = ? AND o.available_at <= ? AND NOT EXISTS (SELECT 1 FROM " + s.table + " e" +
		" WHERE e.aggregate = o.aggregate AND e.available_at < ? AND e.id < o.id AND e.kind = o.kind)" +
		" ORDER BY o.available_at, o.id LIMIT ?"
	return mysqldb.Collect(ctx, conn, query, []any{kind, now.UnixMilli(), int64(parkedAt), limit}, scanRow)
}

func scanRow(row mysqldb.Row, r *Row) error {
	var created int64
	err := row.Scan(&r.ID, &r.Aggregate, &r.Kind, &r.Payload, &created, &r.Attempts, &r.Traceparent, &r.RequestID)
	r.CreatedAt = time.UnixMilli(created).UTC()
	return err
}

func (s *session) remove(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	return s.exec(ctx, "DELETE FROM "+s.table+" WHERE id IN (?"+strings.Repeat(", ?", len(ids)-1)+")", args...)
}

// postpone records a failed attempt.
func (s *session) postpone(ctx context.Context, id int64, until time.Time, reason string) error {
	return s.exec(ctx, "UPDATE "+s.table+" SET attempts = attempts + 1, available_at = ?, last_error = ? WHERE id = ?",
		until.UnixMilli(), shorten(reason), id)
}

// sendBack moves a row behind the others of its kind, with unchanged attempts.
func (s *session) sendBack(ctx context.Context, id int64, until time.Time, reason string) error {
	return s.exec(ctx, "UPDATE "+s.table+" SET available_at = ?, last_error = ? WHERE id = ?",
		until.UnixMilli(), shorten(reason), id)
}

// park keeps the row for an operator. It clears the dedupe key, so that the row does not block later messages.
func (s *session) park(ctx context.Context, id int64, reason string) error {
	return s.exec(ctx, "UPDATE "+s.table+
		" SET attempts = attempts + 1, available_at = ?, last_error = ?, dedupe_key = NULL WHERE id = ?",
		int64(parkedAt), shorten(reason), id)
}

func (s *session) exec(ctx context.Context, statement string, args ...any) error {
	err := s.leader.Do(ctx, func(ctx context.Context, conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, statement, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("record outcome in %s: %w", s.table, err)
	}
	return nil
}

// shorten cuts s to the column's length without splitting a character.
func shorten(s string) string {
	r := []rune(s)
	return string(r[:min(len(r), maxError)])
}
