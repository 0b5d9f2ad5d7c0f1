package mysql_test

import (
	"fmt"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/externaledit/internal/delivery"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
)

// TestHeldReportsAreThoseOfTheLogin checks that only active sessions of the laboratory are listed, without ended and
// expired ones, and that ended sessions of a thousand other reports are not read.
func TestHeldReportsAreThoseOfTheLogin(t *testing.T) {
	t.Parallel()
	db := template.New(t)
	store, err := mysql.New(db, delivery.Encode, clock.Fixed(storetest.Now))
	if err != nil {
		t.Fatal(err)
	}
	session := func(report, lab, bill, active, expires int64) {
		exec(t, db, "INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id, manualSampleId) VALUES (?, ?, ?, 501, 55, 'M-1')", report, lab, bill)
		exec(t, db, `INSERT INTO external_edit_session (id, lab_id, lab_report_id, template_id, template_path, token_id, author_id, author_name,
			is_active, created_at, updated_at, expires_at) VALUES (?, ?, ?, 1, 't', 'token', 77, 'Asha R', ?, 1000, 2000, ?)`, report+1000, lab, report, active, expires)
	}
	exec(t, db, "INSERT INTO AllTests (id, labId_id, testName) VALUES (55, 12, 'Blood count')")
	exec(t, db, "INSERT INTO userDetails (id, labId_id, fullName) VALUES (501, 12, 'Meena Joshi')")
	exec(t, db, "INSERT INTO billing (id, labId_id, labBillId, userDetailsId_id, docId_id, branchId, orgId_id, ccId_id) VALUES (1, 12, 311, 501, 301, 3, 45, NULL), (2, 12, 312, 501, 302, NULL, NULL, 21)")
	later, now := storetest.Now.UnixMilli()+1, storetest.Now.UnixMilli()
	session(1, 12, 1, 1, later)
	session(2, 12, 2, 1, later)
	session(3, 12, 2, 1, now) // expired but not closed
	session(4, 12, 2, 0, later)
	session(5, 13, 9, 1, later)
	const ended = 1000
	exec(t, db, `INSERT INTO external_edit_session (lab_id, lab_report_id, template_id, template_path, token_id, author_id, is_active, created_at, updated_at, expires_at)
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT 12, 1, 1, 't', 'token', 77, 0, 0, 0, ? FROM n`, ended, later)
	exec(t, db, "ANALYZE TABLE external_edit_session, labReportRelation")
	user := authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12}
	branch, organization, centre, doctor, other := user, user, user, user, user
	branch.BranchID, organization.OrgID, centre.CCID, other.LabID = 3, 45, 21, 14
	doctor.SessionType, doctor.DoctorID = authn.Doctor, 302
	for name, c := range map[string]struct {
		who  authn.Principal
		page worklist.Page
		want string
	}{
		"all":                {user, worklist.Page{Limit: 50}, "2 Blood count M-1 312 Meena Joshi Asha R 1000 2000, 1 Blood count M-1 311 Meena Joshi Asha R 1000 2000, of 2"},
		"the second page":    {user, worklist.Page{Limit: 1, Before: 1002}, "1 Blood count M-1 311 Meena Joshi Asha R 1000 2000, of 2"},
		"a branch":           {branch, worklist.Page{Limit: 50}, "1 Blood count M-1 311 Meena Joshi Asha R 1000 2000, of 1"},
		"a referring doctor": {doctor, worklist.Page{Limit: 50}, "2 Blood count M-1 312 Meena Joshi Asha R 1000 2000, of 1"},
		"an organization":    {organization, worklist.Page{Limit: 50}, "1 Blood count M-1 311 Meena Joshi Asha R 1000 2000, of 1"},
		"a centre":           {centre, worklist.Page{Limit: 50}, "2 Blood count M-1 312 Meena Joshi Asha R 1000 2000, of 1"},
		"another laboratory": {other, worklist.Page{Limit: 50}, "of 0"},
	} {
		sees, _, err := worklist.Asked(c.who, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		read := mysqltest.RowsRead(t, db, func() {
			list, err := store.Held(t.Context(), sees, storetest.Now, c.page)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range list.Entries {
				got += fmt.Sprint(h.ReportID, " ", h.TestName, " ", h.SampleID, " ", h.LabBillID, " ", h.Patient.Name, " ", h.AuthorName, " ",
					h.CreatedAt.UnixMilli(), " ", h.UpdatedAt.UnixMilli(), ", ")
			}
			got += fmt.Sprint("of ", list.Total)
		})
		if got != c.want || read > ended/2 {
			t.Errorf("%s: %s with %d rows read, want %s with at most %d", name, got, read, c.want, ended/2)
		}
	}
}
