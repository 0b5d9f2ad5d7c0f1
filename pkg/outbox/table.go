package outbox

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

// Limits of the columns, in characters.
const (
	maxAggregate = 64
	maxKind      = 48
	maxDedupe    = 190
	maxError     = 512
)

// Event is a message to deliver.
type Event struct {
	// Aggregate names what the message is about ("report:7001"): messages of one kind and aggregate keep their order.
	Aggregate string
	// Kind names the receiver and the contract of Payload ("callout.evaluate").
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
	// Traceparent is the W3C trace context of the change; "" when it was not traced.
	Traceparent string
	// RequestID is the id of the request that caused the change; "" when none did.
	RequestID string
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

func (t Table) service() string { return strings.TrimPrefix(t.name, "outbox_") }

//go:embed migrations/*.sql
var migrations embed.FS

// Schema makes the table of a service, and changes it when this package does.
func Schema(service string) mysqldb.Schema {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the name above is wrong
	}
	return mysqldb.Schema{
		Service: service, Part: "outbox", Files: mysqldb.Renamed(files, "outbox_service", "outbox_"+service),
	}
}

// Lock is what the leading relay of a service holds.
func Lock(service string) mysqldb.Lock {
	return mysqldb.Lock{Service: service, Purpose: "relay"}
}

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
	_, err = tx.ExecContext(
		ctx,
		"INSERT INTO "+t.name+
			" (aggregate, kind, payload, dedupe_key, created_at, available_at, traceparent, request_id)"+
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		e.Aggregate,
		e.Kind,
		e.Payload,
		sql.NullString{String: e.DedupeKey, Valid: e.DedupeKey != ""},
		at,
		at,
		traceparent(ctx),
		telemetry.RequestID(ctx),
	)
	if mysqldb.IsDuplicate(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("insert into %s: %w", t.name, err)
	}
	return true, nil
}
