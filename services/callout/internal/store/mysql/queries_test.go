package mysql_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/delivery"
	"github.com/labplatform/labplatform/services/callout/internal/records"
	"github.com/labplatform/labplatform/services/callout/internal/store/mysql"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
)

// statements returns the number of SQL statements that work executes. The pool must be limited to one connection.
func statements(t *testing.T, db *sql.DB, work func()) int {
	t.Helper()
	read := func() (n int) {
		var name string
		if err := db.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Questions'").Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := read()
	work()
	return read() - before - 1 // the second read is counted too
}

func TestTheNumberOfStatementsDoesNotDependOnTheBill(t *testing.T) {
	t.Parallel()
	db := storetest.NewDatabase(t)
	db.SetMaxOpenConns(1)
	clock := storetest.NewClock()
	s, err := mysql.New(db, clock, delivery.Messages{}, storetest.Defaults)
	if err != nil {
		t.Fatal(err)
	}
	list := records.New(s)
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	measure := func(reports int) int {
		for i := range reports {
			exec("REPLACE INTO labReportRelation (id, labId_id, billId_id, billingInfoId_id, userDetailsId_id, reportID_id, sampleCollected, criticalValues)"+
				" VALUES (?, 12, 400, ?, 501, 66, 1, 1)", 8000+i, 8000+i)
			exec("REPLACE INTO reportValues (id, labReportId_id, `index`, `order`, value) VALUES (?, ?, 2, 2, '7.1')", 8000+i, 8000+i)
		}
		clock.Advance(time.Minute) // expires the cached formats
		return statements(t, db, func() {
			found, err := list.List(t.Context(), storetest.Lab(t, 12), storetest.Bill, callout.Visibility{Rule: callout.UserDepartments, PersonID: 78})
			if err != nil || len(found.Records) != 0 {
				t.Errorf("%d records of another department, %v, want none", len(found.Records), err)
			}
			found, err = list.List(t.Context(), storetest.Lab(t, 12), storetest.Bill, callout.Visibility{Rule: callout.Everything})
			if err != nil || len(found.Records) != reports {
				t.Errorf("%d records, %v", len(found.Records), err)
			}
		})
	}
	one, many := measure(1), measure(40)
	if one != many || one != 5+8 {
		t.Fatalf("%d statements for one report, %d for forty, want equal numbers", one, many)
	}
}

// TestAnEvaluationIsAtMostTwelveStatements counts the SQL statements of an evaluation of one report, and of thirty
// reports with twenty parameters each. Both must need at most twelve.
func TestAnEvaluationIsAtMostTwelveStatements(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	b.DB.SetMaxOpenConns(1)
	ids := []int64{}
	for i := range int64(30) {
		ids = append(ids, 8000+i)
		b.Exec("INSERT INTO labReportRelation (id, labId_id, billId_id, billingInfoId_id, userDetailsId_id, reportID_id, sampleCollected)"+
			" VALUES (?, 12, 400, ?, 501, 66, 1)", 8000+i, 8000+i)
		for index := range 20 {
			b.Exec("INSERT INTO reportValues (labReportId_id, `index`, `order`, value) VALUES (?, ?, ?, '4.1')", 8000+i, index+1, index+1)
		}
	}
	b.Judged(12, ids...)
	for _, some := range [][]int64{ids[:1], ids} {
		if n := statements(t, b.DB, func() { b.Judged(12, some...) }); n > 12 {
			t.Errorf("%d statements for %d reports, want at most 12", n, len(some))
		} else {
			t.Logf("%d statements for %d reports", n, len(some))
		}
	}
}

// TestADuplicateDraftIsImpossible checks that the unique key rejects a second draft, even from programs that do not
// take the locks.
func TestADuplicateDraftIsImpossible(t *testing.T) {
	t.Parallel()
	db := storetest.NewDatabase(t)
	insert := func() error {
		_, err := db.ExecContext(t.Context(), "INSERT INTO CriticalCallout (lab_id, bill_id) VALUES (12, 400)")
		return err
	}
	if first, second := insert(), insert(); first != nil || second == nil {
		t.Fatal(fmt.Sprint(first, second))
	}
}
