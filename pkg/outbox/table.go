package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
)

// parkedAt is the available_at of rows that no relay touches.
const parkedAt = math.MaxInt64

// Limits of the columns, in characters.
const (
	maxAggregate = 64
	maxKind      = 48
	maxDedupe    = 190
	maxError     = 512
)

// Event is a message to deliver.
type Event struct {
	// Aggregate names what the message is about ("report:7001"): messages of one aggregate keep their order.
	Aggregate string
	// Kind tells the handler how to read Payload.
	Kind string
	// Payload is protobuf.
	Payload []byte
	// DedupeKey, when not empty, makes a second insert do nothing while the first row waits.
	DedupeKey string
}

// Row is an Event on its way.
type Row struct {
	ID        int64
	Aggregate string
	Kind      string
	Payload   []byte
	CreatedAt time.Time
	Attempts  int // failed tries so far
}

// Key identifies the message for the receiver: it is the same for every try, and differs from every other row's
// even when a restored database hands out an id twice.
func (r Row) Key(table string) string {
	return table + "-" + strconv.FormatInt(r.ID, 10) + "-" + strconv.FormatInt(r.CreatedAt.UnixMilli(), 10)
}

// Table is an outbox table by name.
type Table struct{ name string }

var tableName = regexp.MustCompile(`^outbox_[a-z_]{1,40}$`)

// NewTable returns the table of a service: outbox_<service>.
func NewTable(name string) (Table, error) {
	if !tableName.MatchString(name) {
		return Table{}, fmt.Errorf("outbox table %q must be named outbox_<service>", name)
	}
	return Table{name: name}, nil
}

// Name returns the table's name.
func (t Table) Name() string { return t.name }

// Insert adds e within the caller's transaction: it is delivered if and only if that commits. inserted is false
// when a row with the same DedupeKey waits already.
func (t Table) Insert(ctx context.Context, tx *sql.Tx, now time.Time, e Event) (inserted bool, err error) {
	if len(e.Aggregate) > maxAggregate || len(e.Kind) > maxKind || len(e.DedupeKey) > maxDedupe {
		return false, fmt.Errorf("insert into %s: aggregate, kind or dedupe key is too long", t.name)
	}
	at := now.UnixMilli()
	if e.Payload == nil {
		e.Payload = []byte{} // the column is not NULL
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO "+t.name+
		" (aggregate, kind, payload, dedupe_key, created_at, available_at) VALUES (?, ?, ?, ?, ?, ?)",
		e.Aggregate, e.Kind, e.Payload, sql.NullString{String: e.DedupeKey, Valid: e.DedupeKey != ""}, at, at)
	if mysqldb.IsDuplicate(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("insert into %s: %w", t.name, err)
	}
	return true, nil
}

// due returns rows that may be delivered now, in order of ids. A row behind a waiting one of its aggregate is
// not due.
func (t Table) due(ctx context.Context, conn *sql.Conn, now time.Time, limit int) ([]Row, error) {
	rows, err := conn.QueryContext(ctx, "SELECT o.id, o.aggregate, o.kind, o.payload, o.created_at, o.attempts FROM "+t.name+" o"+
		" WHERE o.available_at <= ? AND NOT EXISTS (SELECT 1 FROM "+t.name+" e"+
		" WHERE e.available_at > ? AND e.available_at < ? AND e.aggregate = o.aggregate AND e.id < o.id) ORDER BY o.id LIMIT ?",
		now.UnixMilli(), now.UnixMilli(), int64(parkedAt), limit)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.name, err)
	}
	defer rows.Close()
	var due []Row
	for rows.Next() {
		var r Row
		var created int64
		if err := rows.Scan(&r.ID, &r.Aggregate, &r.Kind, &r.Payload, &created, &r.Attempts); err != nil {
			return nil, fmt.Errorf("read %s: %w", t.name, err)
		}
		r.CreatedAt = time.UnixMilli(created).UTC()
		due = append(due, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", t.name, err)
	}
	return due, nil
}

func (t Table) remove(ctx context.Context, conn *sql.Conn, id int64) error {
	if _, err := conn.ExecContext(ctx, "DELETE FROM "+t.name+" WHERE id = ?", id); err != nil {
		return fmt.Errorf("delete from %s: %w", t.name, err)
	}
	return nil
}

func (t Table) postpone(ctx context.Context, conn *sql.Conn, id, availableAt int64, reason string) error {
	_, err := conn.ExecContext(ctx, "UPDATE "+t.name+" SET attempts = attempts + 1, available_at = ?, last_error = ? WHERE id = ?",
		availableAt, shorten(reason), id)
	if err != nil {
		return fmt.Errorf("postpone in %s: %w", t.name, err)
	}
	return nil
}

// park keeps the row for an operator. It gives its dedupe key back: else a row that nobody tries again would
// keep later messages out.
func (t Table) park(ctx context.Context, conn *sql.Conn, id int64, reason string) error {
	_, err := conn.ExecContext(ctx, "UPDATE "+t.name+" SET attempts = attempts + 1, available_at = ?, last_error = ?, dedupe_key = NULL WHERE id = ?",
		int64(parkedAt), shorten(reason), id)
	if err != nil {
		return fmt.Errorf("park in %s: %w", t.name, err)
	}
	return nil
}

// backlog is what the gauges show.
type backlog struct {
	waiting, parked int64
	oldest          time.Time // zero when nothing waits
}

func (t Table) backlog(ctx context.Context, db *sql.DB) (backlog, error) {
	var b backlog
	var oldest sql.NullInt64
	err := db.QueryRowContext(ctx, "SELECT COUNT(*), COALESCE(SUM(available_at = ?), 0), MIN(IF(available_at = ?, NULL, created_at)) FROM "+t.name,
		int64(parkedAt), int64(parkedAt)).Scan(&b.waiting, &b.parked, &oldest)
	if err != nil {
		return b, fmt.Errorf("count %s: %w", t.name, err)
	}
	b.waiting -= b.parked
	if oldest.Valid {
		b.oldest = time.UnixMilli(oldest.Int64)
	}
	return b, nil
}

// shorten cuts s to what the column holds without splitting a character.
func shorten(s string) string {
	r := []rune(s)
	if len(r) > maxError {
		r = r[:maxError]
	}
	return string(r)
}
