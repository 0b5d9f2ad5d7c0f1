package storetest

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mysql"
	"github.com/labplatform/labplatform/services/rerun/migrations"
)

// Ids of the rows in every test database.
const (
	Report        = 7001
	OtherReport   = 7002
	ForeignReport = 8001
	Patient       = 501
	Profile       = 301 // test of the report Report
	Child         = 302 // test of the profile
)

var template = mysqltest.Template{Platform: mysql.LegacyColumns(), Schemas: migrations.Schemas()}

// Database returns a database for one test, with Rows.
func Database(t testing.TB) *sql.DB {
	t.Helper()
	db, _ := database(t)
	return db
}

func database(t testing.TB) (db *sql.DB, dsn string) {
	t.Helper()
	db, dsn = template.Open(t)
	Exec(t, db, Rows()...)
	return db, dsn
}

// Rows returns the statements that insert the rows of this package.
func Rows() []string {
	return []string{
		"INSERT INTO labs (id, labName) VALUES (12, 'Asha'), (13, 'Other')",
		"INSERT INTO AllTests (id, labId_id, testName) VALUES (301, 12, 'Blood count'), (302, 12, 'Sedimentation')",
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

// Exec executes statements as another program would.
func Exec(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%.80s: %v", s, err)
		}
	}
}

// Scope returns the scope of a laboratory.
func Scope(t testing.TB, labID int64) authn.LabScope {
	t.Helper()
	scope, err := authn.Principal{Kind: authn.Service}.Scope(labID)
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

// Logged is an entry of the activity log.
type Logged struct {
	Category activitylog.Category
	Actor    authn.Actor
	BillID   int64
	Meta     []byte
}

// AddReport inserts a copy of Report with another id.
func (f *Fixture) AddReport(id int64) {
	f.T.Helper()
	f.Exec("INSERT INTO labReportRelation (id, labId_id, billId_id, billingInfoId_id, userDetailsId_id, reportID_id, sampleId)"+
		" VALUES (?, 12, 401, 901, 501, 301, 'S-1')", id)
}

// AddResult inserts a row of a report's values.
func (f *Fixture) AddResult(report int64, r rerun.Result) {
	f.T.Helper()
	f.Exec("INSERT INTO reportValues (labReportId_id, profileTestId, `index`, `order`, parameter_name, value, highlight,"+
		" automatedValue) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		report, r.ProfileTestID, r.Index, r.Order, r.ParameterName, r.Value, r.Highlight, r.Automated)
}

// AddParameter inserts an enabled format.
func (f *Fixture) AddParameter(p rerun.Parameter) {
	f.T.Helper()
	f.Exec("INSERT INTO ReportFormat (testId_id, `index`, `order`, parameterName) VALUES (?, ?, ?, ?)",
		p.TestID, p.Index, p.Order, p.Name)
}

// Set sets a column of a report as another program would.
func (f *Fixture) Set(report int64, column string, value any) {
	f.T.Helper()
	f.Exec("UPDATE labReportRelation SET "+column+" = ? WHERE id = ?", value, report)
}

// Exec executes a statement as another program would.
func (f *Fixture) Exec(statement string, args ...any) {
	f.T.Helper()
	if _, err := f.DB.ExecContext(f.T.Context(), statement, args...); err != nil {
		f.T.Fatalf("%.80s: %v", statement, err)
	}
}

// Log returns the log entries of a report.
func (f *Fixture) Log(report int64) []Logged {
	f.T.Helper()
	return rows(f, "SELECT category, COALESCE(labUserId, 0), labUserName, COALESCE(billId, 0), meta FROM ActivityLog"+
		" WHERE labReportId = ? ORDER BY id", report, func(l *Logged) []any {
		l.Actor.Kind = authn.ActorLabUser
		return []any{&l.Category, &l.Actor.ID, &l.Actor.Name, &l.BillID, &l.Meta}
	})
}

// Sent returns the outbox messages of a kind about a report.
func (f *Fixture) Sent(report int64, kind string) []outbox.Event {
	f.T.Helper()
	all := rows(f, "SELECT aggregate, kind, payload, COALESCE(dedupe_key, '') FROM outbox_rerun WHERE aggregate = ? ORDER BY id",
		fmt.Sprintf("report:%d", report), func(e *outbox.Event) []any {
			return []any{&e.Aggregate, &e.Kind, &e.Payload, &e.DedupeKey}
		})
	var some []outbox.Event
	for _, e := range all {
		if strings.HasSuffix(e.Kind, kind) {
			some = append(some, e)
		}
	}
	return some
}

// Results returns the values of a report.
func (f *Fixture) Results(report int64) []rerun.Result {
	f.T.Helper()
	return rows(f, "SELECT id, profileTestId, `index`, `order`, parameter_name, value, highlight, automatedValue"+
		" FROM reportValues WHERE labReportId_id = ? ORDER BY profileTestId, `index`", report, func(r *rerun.Result) []any {
		return []any{&r.ID, &r.ProfileTestID, &r.Index, &r.Order, &r.ParameterName, &r.Value, &r.Highlight, &r.Automated}
	})
}

func rows[T any](f *Fixture, query string, arg any, targets func(*T) []any) (found []T) {
	f.T.Helper()
	all, err := f.DB.QueryContext(f.T.Context(), query, arg)
	if err != nil {
		f.T.Fatal(err)
	}
	defer all.Close()
	for all.Next() {
		var row T
		if err := all.Scan(targets(&row)...); err != nil {
			f.T.Fatal(err)
		}
		found = append(found, row)
	}
	if err := all.Err(); err != nil {
		f.T.Fatal(err)
	}
	return found
}
