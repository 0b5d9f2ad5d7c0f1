// Package storetest opens databases for the tests of this service: the migrated tables with the two types of the
// interface document, lab user 77 and administrator 79 of laboratory 12, and lab user 87 of laboratory 13.
package storetest

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/testkit/clocktest"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/store/mysql"
	"github.com/labplatform/labplatform/services/notifications/migrations"
)

// Start is the time at which every test begins.
var Start = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

var template = mysqltest.Template{Platform: mysql.LegacyColumns(), Schemas: migrations.Schemas()}

// Database is a database for one test with a store over it. The store reads the time from Clock.
type Database struct {
	*mysql.Store

	DB    *sql.DB
	DSN   string
	Clock *clocktest.Clock

	t testing.TB
}

// Open returns a database whose clock stands at Start.
func Open(t testing.TB) *Database {
	t.Helper()
	d := &Database{Clock: clocktest.New(Start), t: t}
	d.DB, d.DSN = template.Open(t)
	d.Exec("INSERT INTO labUser (id, labId_id, username, isAdmin) VALUES (77, 12, 'asha', 0), (79, 12, 'admin', 1)," +
		" (87, 13, 'liya', 0)")
	d.Store = d.Over(d.DB)
	return d
}

// Over returns another store with the same clock over db, the pool of a process that is to crash.
func (d *Database) Over(db *sql.DB) *mysql.Store {
	d.t.Helper()
	s, err := mysql.New(db, d.Clock)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// Exec executes a statement as another program would.
func (d *Database) Exec(statement string, args ...any) {
	d.t.Helper()
	if _, err := d.DB.ExecContext(d.t.Context(), statement, args...); err != nil {
		d.t.Fatalf("%s: %v", statement, err)
	}
}

// Events returns the messages in the outbox, in order.
func (d *Database) Events() []outbox.Event {
	d.t.Helper()
	const query = "SELECT aggregate, kind, payload FROM outbox_notifications ORDER BY id"
	list, err := mysqldb.Collect(d.t.Context(), d.DB, query, nil, func(row mysqldb.Row, e *outbox.Event) error {
		return row.Scan(&e.Aggregate, &e.Kind, &e.Payload)
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return list
}

// Put stores a critical notification of a laboratory with the time at, and returns its id.
func (d *Database) Put(lab authn.LabScope, n notify.New, at time.Time) int64 {
	d.t.Helper()
	n.TypeID, n.Message = 2, notification.Message{Title: "Critical report", Data: []byte(`{"lrr_id":7001}`)}
	n.Context = []byte(`{"lab_id":12}`)
	a, err := d.Add(d.t.Context(), lab, n, Push, at)
	if err != nil {
		d.t.Fatal(err)
	}
	return a.ID
}

// Push returns the outbox message of a notification.
func Push(id int64) (outbox.Event, error) {
	return outbox.Event{Aggregate: fmt.Sprint("notification:", id), Kind: "taskqueue.push", Payload: []byte("x")}, nil
}

// Viewer returns the viewer of a session.
func Viewer(t testing.TB, p authn.Principal) notification.Viewer {
	t.Helper()
	p.Kind = authn.Session
	v, err := notification.ViewerOf(p)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// User returns a lab user as a viewer. The user's name is Asha R.
func User(t testing.TB, lab, id int64) notification.Viewer {
	t.Helper()
	return Viewer(t, authn.Principal{
		SessionType: authn.LabUser, LabID: lab, LabUserID: id, FullName: "Asha R", Username: "asha",
	})
}

// Names are topic names without a key, for tests that do not depend on the keyed part.
var Names = notification.NewNames("IN", nil)

// Uncounted is an observer that counts nothing.
type Uncounted struct{}

func (Uncounted) Evicted(device.Eviction) {}
