package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/pkg/testkit/oracletest"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
	"github.com/labplatform/labplatform/services/cdc/migrations"
)

// fixture is a database with the tables of the platform and of the service, and a store.
type fixture struct {
	db    *sql.DB
	dsn   string
	store *mysql.Store
	clock *ticking
	watch *phase.Watch
}

// ticking is a clock set by the test.
type ticking struct {
	mu  sync.Mutex // guards now
	now time.Time
}

func (c *ticking) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *ticking) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

var template = mysqltest.Template{Platform: mysql.SourceColumns(), Schemas: migrations.Schemas()}

func setup(t testing.TB) *fixture { return setupWith(t, "") }

func setupWith(t testing.TB, override phase.Phase) *fixture {
	t.Helper()
	db, dsn := template.Open(t)
	b := &fixture{db: db, dsn: dsn, clock: &ticking{now: start}}
	b.store, b.watch = b.over(db, override)
	return b
}

// over returns a store with another pool of the same database.
func (b *fixture) over(db *sql.DB, override phase.Phase) (*mysql.Store, *phase.Watch) {
	walks := mysql.New(mysql.Deps{DB: db, Clock: b.clock})
	watch := phase.New(phase.Deps{Schema: mysql.NewSchema(db), Walk: walks, Override: override, Log: slog.New(slog.DiscardHandler)})
	return mysql.New(mysql.Deps{DB: db, Clock: b.clock, Phases: watch}), watch
}

// Statements that add and remove the columns of user_meta with which the migration phase ends.
const (
	addPerson = `ALTER TABLE user_meta
		ADD COLUMN full_name VARCHAR(400) NOT NULL DEFAULT '' AFTER lab_patient_id,
		ADD COLUMN contact VARCHAR(20) NOT NULL DEFAULT '' AFTER full_name,
		ADD COLUMN alternate_contact VARCHAR(20) NOT NULL DEFAULT '' AFTER contact,
		ADD COLUMN email VARCHAR(254) NOT NULL DEFAULT '' AFTER alternate_contact,
		ADD COLUMN gender VARCHAR(16) NOT NULL DEFAULT '' AFTER email,
		ADD COLUMN date_of_birth DATE NULL AFTER gender,
		ADD COLUMN age VARCHAR(16) NOT NULL DEFAULT '' AFTER date_of_birth,
		ADD COLUMN passport_no VARCHAR(64) NOT NULL DEFAULT '' AFTER age,
		ADD COLUMN national_identity_number VARCHAR(64) NOT NULL DEFAULT '' AFTER passport_no`
	dropPerson = `ALTER TABLE user_meta
		DROP COLUMN full_name, DROP COLUMN contact, DROP COLUMN alternate_contact, DROP COLUMN email, DROP COLUMN gender,
		DROP COLUMN date_of_birth, DROP COLUMN age, DROP COLUMN passport_no, DROP COLUMN national_identity_number`
)

func (b *fixture) exec(t testing.TB, query string, args ...any) {
	t.Helper()
	if _, err := b.db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%v in %.120s", err, query)
	}
}

func (b *fixture) patient(t testing.TB, id, lab int64) {
	t.Helper()
	b.exec(t, "REPLACE INTO userDetails (id, labId_id, branchId, labPatientId, firstName, lastName, contact, dateOfBirth)"+
		" VALUES (?, ?, 3, ?, 'Asha', ?, '98-76', '1990-02-11')", id, lab, fmt.Sprintf("P-%d", id), fmt.Sprintf("R%d", id))
}

func (b *fixture) bill(t testing.TB, id, user, lab int64) {
	t.Helper()
	b.exec(t, "REPLACE INTO billing (id, labId_id, labBillId, orderNumber, userDetailsId_id, orgId_id, billTime)"+
		" VALUES (?, ?, ?, ?, ?, 45, '2026-10-01 10:00:00.123456')", id, lab, id, fmt.Sprintf("ord-%d", id), user)
}

func (b *fixture) report(t testing.TB, id, user, lab int64) {
	t.Helper()
	b.exec(t, "REPLACE INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id, sampleId, lrfId, sampleRedrawFlag)"+
		" VALUES (?, ?, 1, ?, 9, ?, ?, 3)", id, lab, user, fmt.Sprintf("s-%d", id), fmt.Sprintf("L%d", id))
}

func targets(ids ...int64) []materialize.Target {
	list := make([]materialize.Target, len(ids))
	for i, id := range ids {
		list[i] = materialize.Target{UserID: id}
	}
	return list
}

func (b *fixture) recompute(t testing.TB, list ...materialize.Target) materialize.Summary {
	t.Helper()
	summary, err := b.store.Recompute(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	return summary
}

func (b *fixture) row(t testing.TB, id int64) projection.Row {
	t.Helper()
	rows, err := b.store.RowsByID(t.Context(), []int64{id})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows of %d: %v", len(rows), id, err)
	}
	return rows[0]
}

// same compares the whole table with the rows computed by package oracletest.
func (b *fixture) same(t testing.TB) {
	t.Helper()
	expected, err := oracletest.Expected(t.Context(), b.db)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := oracletest.Stored(t.Context(), b.db)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(expected, stored); diff != "" {
		t.Fatalf("user_meta is not what the sources say: %s", diff)
	}
}

func scope(t testing.TB, lab int64) authn.LabScope {
	t.Helper()
	s, err := mysql.Laboratory(lab)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func background(t testing.TB) context.Context { return context.WithoutCancel(t.Context()) }
