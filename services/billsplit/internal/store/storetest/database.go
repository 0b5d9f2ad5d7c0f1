// Package storetest opens databases for the tests of this service, and compares their content.
package storetest

import (
	"database/sql"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/billsplit/migrations"
)

var template = mysqltest.Template{Platform: mysql.LegacyColumns(nil), Schemas: migrations.Schemas()}

// Database is a test database with a store over it.
type Database struct {
	*mysql.Store

	DB  *sql.DB
	DSN string
	t   testing.TB
}

// Open returns a new test database with the content s.
func Open(t testing.TB, s State) Database {
	t.Helper()
	db, dsn := template.Open(t)
	Insert(t, db, s)
	return Database{Store(t, db), db, dsn, t}
}

// Reset replaces the content of the database, for tests that need many databases one after the other.
func (d Database) Reset(s State) {
	d.t.Helper()
	for _, table := range []string{"billing", "billingInfo", "labReportRelation", "bill_attachment", "ActivityLog",
		"lab_bill_counter", "bill_split_audit", "bill_split_merge", "idempotency_billsplit"} {
		d.Exec("DELETE FROM " + table)
	}
	Insert(d.t, d.DB, s)
}

// Store returns a store over db.
func Store(t testing.TB, db *sql.DB) *mysql.Store {
	t.Helper()
	store, err := mysql.New(db, clock.System{}, nil)
	must(t, err)
	return store
}

// Dump returns the content of the database.
func (d Database) Dump() State {
	d.t.Helper()
	return dump(d.t, d.DB)
}

// Exec executes a statement as another program would.
func (d Database) Exec(statement string, args ...any) {
	d.t.Helper()
	if _, err := d.DB.ExecContext(d.t.Context(), statement, args...); err != nil {
		d.t.Fatalf("%s: %v", statement, err)
	}
}

// ChangeTest changes a billed test as another program would.
func (d Database) ChangeTest(id int64, edit func(*bill.Row)) {
	d.t.Helper()
	r := d.Dump().Tests[id].Row
	edit(&r)
	d.Exec("UPDATE billingInfo SET testAmount = ?, dismissed = ?, refunded = ? WHERE id = ?",
		r.Amount.String(), r.Dismissed, r.Refunded, id)
}

// Lab returns the scope of a laboratory.
func Lab(t testing.TB, id int64) authn.LabScope {
	t.Helper()
	scope, err := authn.Principal{Kind: authn.Session, LabID: id}.Scope(0)
	must(t, err)
	return scope
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
