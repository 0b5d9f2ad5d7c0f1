package mysql_test

import (
	"database/sql"
	"log/slog"
	"testing"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/store/mysql"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
	"github.com/labplatform/labplatform/services/callout/migrations"
)

// world is what the suite expects of every store.
var world = []string{
	"INSERT INTO labs (id, labName, timezone) VALUES (12, 'A', 'UTC'), (13, 'B', 'UTC')",
	"INSERT INTO department (id, labId_id, departmentName) VALUES (4, 12, 'Haematology'), (5, 12, 'Biochemistry')",
	"INSERT INTO AllTests (id, labId_id, testName, departmentId_id) VALUES (55, NULL, 'Count', 4), (66, NULL, 'Electrolytes', 5)",
	"INSERT INTO ReportFormat (id, testId_id, `index`, `order`, parameterName) VALUES (6602, 66, 2, 2, 'Potassium')," +
		" (5501, 55, 1, 1, 'Haemoglobin'), (5503, 55, 3, 3, 'Smear')",
	"INSERT INTO ReportFormatRange (reportFormatId_id, gender, ageFrom, ageTo, lowerBound, upperBound, criticalLower, criticalUpper) VALUES" +
		" (6602, 'A', 0, NULL, 3.5, 5.1, 2.5, 6.5), (5501, 'A', 0, NULL, 13, 17, 7, 20), (5503, 'A', 0, NULL, 1, 2, NULL, NULL)",
	"INSERT INTO DoctorDepartmentRelation (docId_id, departmentId_id) VALUES (302, 5)",
	"INSERT INTO LabUserDepartmentRelation (labUserId_id, departmentId_id) VALUES (78, 4)",
	"INSERT INTO userDetails (id, labId_id, fullName, gender, age) VALUES (501, 12, 'Canary Sharma', 'M', '38 Y'), (601, 13, 'X', 'F', '')",
	"INSERT INTO billing (id, labId_id, labBillId, userDetailsId_id, orgId_id, docId_id) VALUES (400, 12, 1, 501, 45, 301)," +
		" (401, 12, 2, 501, NULL, NULL), (500, 13, 1, 601, NULL, NULL)",
	"INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id, orgId_id, sampleCollected) VALUES" +
		" (7001, 12, 400, 501, 66, 45, 1), (7002, 12, 400, 501, 55, 45, 1), (7003, 12, 401, 501, 66, NULL, 1), (7100, 13, 500, 601, 66, NULL, 1)",
}

// newDatabase holds the platform's tables, the service's and the world.
func newDatabase(t *testing.T) *sql.DB {
	t.Helper()
	db := mysqltest.New(t)
	if err := legacydb.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if err := mysqldb.RequireColumns(t.Context(), db, mysql.LegacyColumns()); err != nil {
		t.Fatal(err)
	}
	if err := mysqldb.Migrate(t.Context(), db, "callout", migrations.Files, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	for _, statement := range world {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func open(t *testing.T, c *storetest.Clock) storetest.Backend {
	t.Helper()
	db := newDatabase(t)
	s, err := mysql.New(db, c, storetest.Pace)
	if err != nil {
		t.Fatal(err)
	}
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	return storetest.Backend{
		Reader: s, Callouts: mysql.Callouts{Store: s}, Evaluations: mysql.Evaluations{Store: s}, Escalations: mysql.Escalations{Store: s},
		Reaps: mysql.Reaps{Store: s}, Sweeps: mysql.Sweeps{Store: s},
		SetValue: func(id int64, index int, value string) {
			exec("INSERT INTO reportValues (labReportId_id, `index`, `order`, value) VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE value = VALUES(value)",
				id, index, index, value)
		},
		SetStatus: func(id int64, to callout.Status) {
			exec("UPDATE labReportRelation SET criticalValues = ?, updatedOn = CURRENT_TIMESTAMP(6) WHERE id = ?", to, id)
		},
		Dismiss:    func(id int64) { exec("UPDATE labReportRelation SET dismissed = 1 WHERE id = ?", id) },
		MoveToBill: func(id, bill int64) { exec("UPDATE labReportRelation SET billId_id = ? WHERE id = ?", bill, id) },
		Setting: func(lab int64, escalateAfter, repeatWithin int) {
			exec("REPLACE INTO callout_setting VALUES (?, NULLIF(?, 0), ?)", lab, escalateAfter, repeatWithin)
		},
		Sent: func() []outbox.Event { return sent(t, db) },
	}
}

func sent(t *testing.T, db *sql.DB) (events []outbox.Event) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT aggregate, kind, payload, IFNULL(dedupe_key, '') FROM outbox_callout ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var e outbox.Event
		if err := rows.Scan(&e.Aggregate, &e.Kind, &e.Payload, &e.DedupeKey); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return events
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, open)
}
