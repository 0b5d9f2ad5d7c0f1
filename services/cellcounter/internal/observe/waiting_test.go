package observe_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/mysql"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/storetest"
)

var technician = authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 77}

// waiting returns the waiting reports as "7001 wants 2 after Asha", and their number.
func waiting(t *testing.T, db *sql.DB, p authn.Principal, page worklist.Page) (list []string, total int) {
	t.Helper()
	sees, _, err := worklist.Asked(p, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := observe.New(mysql.New(db), clock.System{}).Waiting(t.Context(), sees, page)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range found.Entries {
		text := fmt.Sprintf("%d wants %d", w.ReportID, w.Missing)
		if w.CountedAt != 0 {
			text += " after " + w.CountedBy.Name
		}
		list = append(list, text)
	}
	return list, found.Total
}

var all = worklist.Page{Limit: 50}

// TestASmearWaitsUntilTwoHaveCounted follows one report from its keys to its signature. It must be listed until two
// observers have counted.
func TestASmearWaitsUntilTwoHaveCounted(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	lab := observe.Access{Lab: storetest.Scope(t, 12)}
	counter := observe.New(mysql.New(db), clock.System{})
	save := func(observer int, id int64, name string) func() {
		return func() {
			s := saving(observer, authn.Actor{Kind: authn.ActorLabUser, ID: id, Name: name}, 1, 100)
			s.ReportID = storetest.Report
			if _, err := counter.Save(t.Context(), lab, s); err != nil {
				t.Fatal(err)
			}
		}
	}
	run := func(statement string) func() { return func() { storetest.Exec(t, db, statement) } }
	for _, step := range []struct {
		what string
		do   func()
		want string
	}{
		{"no keys are mapped", func() {}, ""},
		{"another laboratory maps keys", run("INSERT INTO cell_counter_mappings (test_id, lab_id, `key`, cell_id, report_format_index, report_format_order, created_at, updated_at) VALUES (55, 13, 'a', 1, 1, 1, 0, 0)"), ""},
		{"the defaults have keys", run("INSERT INTO cell_counter_mappings (test_id, `key`, cell_id, report_format_index, report_format_order, created_at, updated_at) VALUES (55, 'a', 1, 1, 1, 0, 0)"), "7001 wants 1"},
		{"the second observer counted", save(2, 80, "Ravi"), "7001 wants 1 after Ravi"},
		{"the first one too", save(1, 77, "Asha"), ""},
		{"the second count is removed", run("DELETE FROM cell_count WHERE observer = 2"), "7001 wants 2 after Asha"},
		{"the sample of the count has a number", run("UPDATE cell_count c JOIN labReportRelation r ON r.id = c.lab_report_id SET c.sample_id = 'S-1', r.sampleId = 'S-1'"), "7001 wants 2 after Asha"},
		{"another sample is taken", run("UPDATE labReportRelation SET sampleId = 'S-2'"), "7001 wants 1"},
		{"it was the same sample", run("UPDATE labReportRelation SET sampleId = 'S-1'"), "7001 wants 2 after Asha"},
		{"the report is signed", run("UPDATE labReportRelation SET isSigned = 1"), ""},
		{"the signature is removed", run("UPDATE labReportRelation SET isSigned = 0"), "7001 wants 2 after Asha"},
		{"the report is dismissed", run("UPDATE labReportRelation SET dismissed = 1"), ""},
	} {
		step.do()
		got, total := waiting(t, db, technician, all)
		if strings.Join(got, ", ") != step.want || total != len(got) {
			t.Errorf("%s: %q of %d, want %q", step.what, got, total, step.want)
		}
	}
}

// TestWaitingReportsAreThoseOfTheLogin checks that logins get only the waiting reports that they may see, also in
// pages.
func TestWaitingReportsAreThoseOfTheLogin(t *testing.T) {
	t.Parallel()
	db := smears(t, 4)
	storetest.Exec(t, db, "INSERT INTO billing (id, labId_id, labBillId, userDetailsId_id, docId_id, branchId, orgId_id, ccId_id) VALUES (2, 12, 2, 1, 302, 3, 45, 21)")
	storetest.Exec(t, db, "UPDATE labReportRelation SET billId_id = 2 WHERE id IN (8000, 8002)")
	login := func(edit func(*authn.Principal)) authn.Principal {
		p := technician
		edit(&p)
		return p
	}
	for name, c := range map[string]struct {
		who  authn.Principal
		page worklist.Page
		want string
	}{
		"the first page":     {technician, worklist.Page{Limit: 2}, "[8003 8002] of 5"},
		"the second":         {technician, worklist.Page{Limit: 2, Before: 8002}, "[8001 8000] of 5"},
		"a branch":           {login(func(p *authn.Principal) { p.BranchID = 3 }), all, "[8002 8000] of 2"},
		"a referring doctor": {login(func(p *authn.Principal) { p.SessionType, p.DoctorID = authn.Doctor, 302 }), all, "[8002 8000] of 2"},
		"an organization":    {login(func(p *authn.Principal) { p.OrgID = 45 }), all, "[8002 8000] of 2"},
		"a centre":           {login(func(p *authn.Principal) { p.CCID = 21 }), all, "[8002 8000] of 2"},
		"another laboratory": {login(func(p *authn.Principal) { p.LabID = 13 }), all, "[] of 0"},
	} {
		got, total := waiting(t, db, c.who, c.page)
		for i := range got {
			got[i], _, _ = strings.Cut(got[i], " ")
		}
		if text := fmt.Sprint(got, " of ", total); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

// smears returns a database with mapped keys of OwnTest and, in addition to Report, n waiting reports with ids from
// 8000.
func smears(t *testing.T, n int) *sql.DB {
	t.Helper()
	db := storetest.Open(t)
	storetest.Exec(t, db, "INSERT INTO cell_counter_mappings (test_id, `key`, cell_id, report_format_index, report_format_order, created_at, updated_at) VALUES (55, 'a', 1, 1, 1, 0, 0)")
	for i := range n {
		storetest.Exec(t, db, "INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id) VALUES (?, 12, 1, 1, 55)", 8000+i)
	}
	return db
}

// TestWhatWaitsCostsWhatWaits checks that the number of rows read does not depend on the number of signed reports and
// of reports of other tests.
func TestWhatWaitsCostsWhatWaits(t *testing.T) {
	t.Parallel()
	read := map[int]int{}
	for _, others := range []int{500, 10_000} {
		db := smears(t, 3)
		const atOnce = 500 // servers limit the recursion of a query
		for from := 0; from < others; from += atOnce {
			storetest.Exec(t, db, "INSERT INTO labReportRelation (labId_id, billId_id, userDetailsId_id, reportID_id, isSigned) WITH RECURSIVE n (i) AS"+
				" (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT 12, 1, 1, IF(i % 2, 55, 9), i % 2 FROM n", atOnce)
		}
		storetest.Exec(t, db, "ANALYZE TABLE labReportRelation, cell_count, cell_counter_mappings, AllTests")
		read[others] = mysqltest.RowsRead(t, db, func() {
			if got, total := waiting(t, db, technician, all); total != 4 || !slices.Contains(got, "8000 wants 1") {
				t.Errorf("%q of %d, want 4 reports", got, total)
			}
		})
	}
	t.Logf("rows read, by the number of other reports: %v", read)
	if read[500] != read[10_000] || read[500] > 1000 {
		t.Errorf("rows read, by the number of other reports: %v, want the same, at most 1000", read)
	}
}

// A count without a kind of login, as another program may store it, may be the caller's own.
func TestTheOtherCountMayBeTheCallersOwn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		waiting observe.Waiting
		want    bool
	}{
		"no one counted":     {observe.Waiting{CountedBy: authn.Actor{}}, false},
		"own":                {observe.Waiting{CountedBy: asha, CountedAt: 5}, true},
		"another's":          {observe.Waiting{CountedBy: ravi, CountedAt: 5}, false},
		"a doctor's number":  {observe.Waiting{CountedBy: doctor, CountedAt: 5}, false},
		"of an unknown kind": {observe.Waiting{CountedBy: noKind, CountedAt: 5}, true},
	} {
		if got := c.waiting.IsCountedBy(asha); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
