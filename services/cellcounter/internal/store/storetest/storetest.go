// Package storetest opens databases with the rows that the tests of this service use.
//
// OwnTest belongs to laboratory 12 and has the parameters 1 to 5; its parameter 6 is disabled. SharedTest belongs to
// every laboratory and has parameter 1. Cell Retired is disabled. Report belongs to laboratory 12 and OwnTest, on a
// bill of Doctor.
package storetest

import (
	"database/sql"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/mysql"
	"github.com/labplatform/labplatform/services/cellcounter/migrations"
)

// Ids of the rows in every test database.
const (
	OwnTest    = 55
	SharedTest = 56
	Retired    = 3
	Report     = 7001
	Doctor     = 301
)

var template = mysqltest.Template{Platform: mysql.LegacyColumns(), Schemas: migrations.Schemas()}

// Open returns a new test database with the rows of this package. It is dropped when the test ends.
func Open(t testing.TB) *sql.DB {
	t.Helper()
	db, _ := OpenDSN(t)
	return db
}

// OpenDSN returns a test database like Open, and its DSN.
func OpenDSN(t testing.TB) (*sql.DB, string) {
	t.Helper()
	db, dsn := template.Open(t)
	Exec(t, db, "INSERT INTO AllTests (id, labId_id, testName) VALUES (55, 12, 'Blood count'), (56, NULL, 'Differential')")
	Exec(t, db, "INSERT INTO ReportFormat (id, testId_id, `index`, `order`, parameterName, isDisabled) VALUES"+
		" (5501,55,1,1,'A',0), (5502,55,2,2,'B',0), (5503,55,3,3,'C',0), (5504,55,4,4,'D',0), (5505,55,5,5,'E',0),"+
		" (5506,55,6,6,'F',1), (5601,56,1,1,'A',0)")
	Exec(t, db, "UPDATE cells SET is_disable = 1 WHERE id = 3")
	Exec(t, db, "INSERT INTO labReportRelation (id, labId_id, billId_id, billingInfoId_id, userDetailsId_id, reportID_id)"+
		" VALUES (7001, 12, 1, 1, 1, 55)")
	Exec(t, db, "INSERT INTO billing (id, labId_id, labBillId, userDetailsId_id, docId_id) VALUES (1, 12, 1, 1, 301)")
	return db, dsn
}

// Exec executes a statement as another program would.
func Exec(t testing.TB, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// Lab returns a laboratory as an owner of mappings.
func Lab(t testing.TB, id int64) mapping.Owner {
	t.Helper()
	return mapping.Of(Scope(t, id))
}

// Scope returns the LabScope of a laboratory.
func Scope(t testing.TB, id int64) authn.LabScope {
	t.Helper()
	scope, err := authn.Principal{Kind: authn.Session, LabID: id}.Scope(0)
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

// Row returns a mapping of a key to parameter n and a cell.
func Row(key string, n int, cell int64) mapping.Row {
	return mapping.Row{Mapping: mapping.Mapping{Key: mapping.StoredKey(key), CellID: cell,
		Parameter: mapping.Parameter{Index: n, Order: n}, IncludeInTotal: true}}
}
