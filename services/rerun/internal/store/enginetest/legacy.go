package enginetest

import (
	"database/sql"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mysql"
	"github.com/labplatform/labplatform/services/rerun/migrations"
)

var template = mysqltest.Template{Platform: mysql.LegacyColumns(), Schemas: migrations.Schemas()}

// Database returns a database of its own with the tables of the platform that the service uses and its own.
func Database(t testing.TB) *sql.DB {
	t.Helper()
	return template.New(t)
}

// Rows are the statements that add two laboratories, one adult woman, and a profile report whose parameters are 1
// (haemoglobin), 3 (white cells), 5 (disabled) and, from a profile child, 8.
func Rows() []string {
	return []string{
		"INSERT INTO labs (id, labName) VALUES (12, 'Asha'), (13, 'Other')",
		"INSERT INTO userDetails (id, labId_id, gender, dateOfBirth) VALUES (501, 12, 'Female', '1990-05-01'), (601, 13," +
			" 'M', NULL)",
		"INSERT INTO billingInfo (id, billId_id, labId_id, testId_id, isProfile, profileParentId) VALUES (901, 401, 12," +
			" 301, 1, NULL), (902, 401, 12, 302, 0, 901)",
		"INSERT INTO ReportFormat (id, testId_id, `index`, `order`, parameterName, isDisabled) VALUES" +
			" (1, 301, 1, 1, 'Haemoglobin', 0), (3, 301, 3, 2, 'White cells', 0), (5, 301, 5, 3, 'Old', 1), (8, 302, 8, 1," +
			" 'ESR', 0), (9, 303, 9, 1, 'Foreign', 0)",
		"INSERT INTO labReportRelation (id, labId_id, billId_id, billingInfoId_id, userDetailsId_id, reportID_id, sampleId," +
			" sampleCollectionTime) VALUES" +
			" (7001, 12, 401, 901, 501, 301, 'S-1', '2026-11-20 20:00:00'), (7002, 12, 401, NULL, 501, 301, 'S-2', NULL)," +
			" (8001, 13, 402, NULL, 601, 303, 'S-3', NULL)",
	}
}

// Exec runs statements in order.
func Exec(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%v (statement %.80s)", err, s)
		}
	}
}
