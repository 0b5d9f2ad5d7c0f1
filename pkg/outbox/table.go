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

	"go.opentelemetry.io/otel/codes"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

// Maximum lengths of the columns, in characters.
const (
	maxAggregate = 64
	maxKind      = 48
	maxDedupe    = 190
	maxError     = 512
)

// Event is a message to deliver.
type Event struct {
	// Aggregate identifies the subject of the message ("report:7001"). Messages of one kind and aggregate keep their
	// order.
	Aggregate string
	// Kind names the receiver and the format of Payload ("callout.evaluate").
	Kind string
	// Payload is an encoded protobuf message.
	Payload []byte
	// DedupeKey, if not empty, makes another Insert with the same key have no effect while the first row waits.
	DedupeKey string
}

// Row is a stored Event.
type Row struct {
	ID        int64
	Aggregate string
	Kind      string
	Payload   []byte
	CreatedAt time.Time
	Attempts  int // failed attempts so far
	// Traceparent is the W3C trace context of the change; empty if it was not traced.
	Traceparent string
	// RequestID is the id of the request that caused the change; empty if there was none.
	RequestID string
}

// Key identifies the message for the receiver. It is the same for every attempt, and unique even if a restored database
// assigns an id again.
func (r Row) Key(table string) string {
	return table + "-" + strconv.FormatInt(r.ID, 10) + "-" + strconv.FormatInt(r.CreatedAt.UnixMilli(), 10)
}

// Table is the outbox table of one service.
type Table struct{ name string }

var tableName = regexp.MustCompile(`^outbox_[a-z_]{1,40}$`)

// NewTable returns the table with this name, which must be outbox_<service>.
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

// Schema returns the migrations that create and update the table of a service.
func Schema(service string) mysqldb.Schema {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // cannot happen: the folder is embedded
	}
	return mysqldb.Schema{
		Service: service, Part: "outbox", Files: mysqldb.Renamed(files, "outbox_service", "outbox_"+service),
	}
}

// Lock returns the lock of a service's leading relay.
func Lock(service string) mysqldb.Lock {
	return mysqldb.Lock{Service: service, Purpose: "relay"}
}

// Insert adds e within the caller's transaction: it is delivered if and only if the transaction commits. inserted is
// false if a row with the same DedupeKey is already waiting.
func (t Table) Insert(ctx context.Context, tx *sql.Tx, now time.Time, e Event) (inserted bool, err error) {
	if len(e.Aggregate) > maxAggregate || len(e.Kind) > maxKind || len(e.DedupeKey) > maxDedupe {
		return false, fmt.Errorf("insert into %s: aggregate, kind or dedupe key is too long", t.name)
	}
	ctx, span := t.produced(ctx, e.Kind)
	defer span.End()
	at := now.UnixMilli()
	if e.Payload == nil {
		e.Payload = []byte{} // the column is NOT NULL
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
		span.SetStatus(codes.Error, "") // the text of an error may quote values
		return false, fmt.Errorf("insert into %s: %w", t.name, err)
	}
	return true, nil
}
