// Package storetest is the suite that every store of bills passes, and what tests of the use cases stand on.
package storetest

import (
	"database/sql"
	"log/slog"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/memory"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/billsplit/migrations"
)

// Store is what the suite tests.
type Store interface {
	split.Store
	family.Store
	family.Reader
}

// Backend is a store of a test. Dump tells everything that it holds. ChangeTest edits a billed test as another program
// does.
type Backend struct {
	Store

	Dump       func() memory.State
	ChangeTest func(id int64, edit func(*bill.Row))
}

// Open makes a backend that holds s.
type Open func(t testing.TB, s memory.State) Backend

// Backends are those on which concurrency and crashes are tested, by name.
func Backends() map[string]Open { return map[string]Open{memoryName: Memory, mysqlName: MySQL} }

const (
	memoryName = "memory"
	mysqlName  = "mysql"
)

// Again is open for a test that opens many backends one after the other: those of one test on the real engine share its
// database, which is emptied before each.
func (o Open) Again(t testing.TB) Open {
	t.Helper()
	if !strings.HasSuffix(t.Name(), mysqlName) {
		return o
	}
	db := Database(t)
	return func(t testing.TB, s memory.State) Backend {
		for _, table := range []string{"billing", "billingInfo", "labReportRelation", "bill_attachment", "ActivityLog",
			"lab_bill_counter",
			"bill_split_audit", "bill_split_merge", "idempotency_billsplit"} {
			_, err := db.ExecContext(t.Context(), "DELETE FROM "+table)
			must(t, err)
		}
		return OnDatabase(t, db, s)
	}
}

// Memory is the backend of maps.
func Memory(_ testing.TB, s memory.State) Backend {
	store := memory.New(s)
	return Backend{store, store.State, store.ChangeTest}
}

// MySQL is the backend on the real engine, with a database of its own.
func MySQL(t testing.TB, s memory.State) Backend {
	t.Helper()
	return OnDatabase(t, Database(t), s)
}

// Database returns a database with the platform's tables and the service's.
func Database(t testing.TB) *sql.DB {
	t.Helper()
	db := mysqltest.New(t)
	must(t, legacydb.Create(t.Context(), db))
	must(t, mysqldb.RequireColumns(t.Context(), db, mysql.LegacyColumns(nil)))
	must(t, mysqldb.Migrate(t.Context(), db, migrations.Schemas(), slog.New(slog.DiscardHandler)))
	return db
}

// OnDatabase is the backend on a database that the test made.
func OnDatabase(t testing.TB, db *sql.DB, s memory.State) Backend {
	t.Helper()
	store, err := mysql.New(db, clock.System{}, nil)
	must(t, err)
	Insert(t, db, s)
	change := func(id int64, edit func(*bill.Row)) {
		r := dump(t, db).Tests[id].Row
		edit(&r)
		_, err := db.ExecContext(t.Context(), "UPDATE billingInfo SET testAmount = ?, dismissed = ?, refunded = ? WHERE id = ?",
			r.Amount.String(), r.Dismissed, r.Refunded, id)
		must(t, err)
	}
	return Backend{store, func() memory.State { return dump(t, db) }, change}
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

// Insert writes a state into a database.
func Insert(t testing.TB, db *sql.DB, s memory.State) {
	t.Helper()
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for id, b := range s.Bills {
		a, st := b.Amounts, b.State
		exec("INSERT INTO billing (id, labId_id, labBillId, orderNumber, userDetailsId_id, source, version, vat, vat_percent,"+
			" TDSAmount, billAdvance,"+
			" co_pay_amount, billConcession, billTotalAmount, deductible_amount, billAdditionalAmount, patientPayableAmount,"+
			" billLocked, billCancelled, billRefunded, billWrittenOff, isComplete, isInvoiced) VALUES (?"+
			strings.Repeat(",?", 22)+")",
			id, b.LabID, b.LabBillID, b.OrderNumber, b.PatientID, b.Source, b.Version,
			a.VAT.String(), a.VATPercent.String(), a.TDS.String(), a.Advance.String(), a.CoPay.String(),
			a.Concession.String(), a.Total.String(), a.Deductible.String(), a.Additional.String(), a.PatientPayable.String(),
			st.Locked, st.Cancelled, st.Refunded, st.WrittenOff, st.Complete, st.Invoiced)
	}
	for id, r := range s.Tests {
		if r.Name != "" {
			exec("INSERT INTO AllTests (id, labId_id, testName) VALUES (?,?,?)", id, r.LabID, r.Name)
		}
		exec("INSERT INTO billingInfo (id, billId_id, labId_id, testId_id, profileParentId, testAmount, testConsc,"+
			" co_pay_amount, deductible_amount,"+
			" dismissed, refunded) VALUES (?,?,?,?,?,?,?,?,?,?,?)", id, r.BillID, r.LabID, id,
			sql.NullInt64{Int64: r.ProfileID, Valid: r.ProfileID != 0},
			r.Amount.String(), r.Concession.String(), r.CoPay.String(), r.Deductible.String(), r.Dismissed, r.Refunded)
	}
	for id, r := range s.Reports {
		exec("INSERT INTO labReportRelation (id, labId_id, billId_id, billingInfoId_id, userDetailsId_id, reportID_id)"+
			" VALUES (?,?,?,?,1,1)", id, r.LabID, r.BillID, r.TestID)
	}
	for id, a := range s.Attachments {
		exec("INSERT INTO bill_attachment (id, lab_id, bill_id, category, file_path, is_active) VALUES (?,12,?,?,'x',?)",
			id, a.BillID, a.Category, a.Active)
	}
	for table, rows := range s.Guards {
		for _, r := range rows {
			if r.TestID != 0 {
				exec("INSERT INTO "+table+" (bill_id, billing_info_id) VALUES (NULLIF(?,0),?)", r.BillID, r.TestID)
			} else {
				exec("INSERT INTO "+table+" (bill_id) VALUES (?)", r.BillID)
			}
		}
	}
	for lab, last := range s.Counters {
		exec("INSERT INTO lab_bill_counter VALUES (?,?)", lab, last)
	}
	for lab := range s.SwitchedOff {
		exec("INSERT INTO labs (id, labName, enable_bill_split) VALUES (?,'',0)", lab)
	}
}
