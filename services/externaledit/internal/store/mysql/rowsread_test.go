package mysql_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/externaledit/internal/delivery"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
)

// The test checks that the cost of a page of saves depends on its own report only, not on the saves of other reports.
func TestAListOfRevisionsReadsItsOwnReport(t *testing.T) {
	t.Parallel()
	db := template.New(t)
	const quiet, busy, many = 1, 2, 10_000
	saves := func(sessionID, reportID, n int) {
		exec(t, db, `INSERT INTO external_edit_session (id, lab_id, lab_report_id, template_id, template_path, token_id, author_id,
			is_active, created_at, updated_at, expires_at) VALUES (?, 12, ?, 1, 't', 'token', 77, 0, 0, 0, 0)`, sessionID, reportID)
		const atOnce = 500 // servers limit the recursion of a query
		for from := 0; from < n; from += atOnce {
			exec(t, db, `INSERT INTO external_edit_revision (session_id, revision, word_s3_path, pdf_s3_path, word_sha256, pdf_sha256,
				word_size, pdf_size, uploaded_by, uploaded_at) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
				SELECT ?, ? + i, 'w', 'p', '', '', 1, 1, 77, 0 FROM n`, min(atOnce, n-from), sessionID, from)
		}
	}
	db.SetMaxOpenConns(1)
	saves(1, quiet, 60)
	for i := range 50 {
		saves(100+i, 100+i, 200)
	}
	saves(2, busy, many)
	exec(t, db, "ANALYZE TABLE external_edit_session, external_edit_revision")
	store, err := mysql.New(db, delivery.Encode, clock.Fixed(storetest.Now))
	if err != nil {
		t.Fatal(err)
	}
	page := func(reportID, before int64) (list []session.Revision, read int) {
		read = mysqltest.RowsRead(t, db, func() {
			list, err = store.Revisions(t.Context(), storetest.Scope(t, 12), reportID, session.Page{Limit: 50, Before: before})
			if err != nil {
				t.Fatal(err)
			}
		})
		return list, read
	}
	page(quiet, 0) // the first use of a table reads its statistics
	for _, c := range []struct{ report, rows int64 }{{quiet, 60}, {busy, many}} {
		first, read := page(c.report, 0)
		second, again := page(c.report, first[len(first)-1].ID)
		t.Logf("report with %d saves: %d and %d rows read for a page", c.rows, read, again)
		if len(first) != 50 || len(second) != int(min(50, c.rows-50)) || second[0].ID != first[49].ID-1 {
			t.Errorf("%d and %d saves", len(first), len(second))
		}
		if most := int(3*c.rows + 100); max(read, again) > most {
			t.Errorf("%d rows read for a page of %d saves", max(read, again), c.rows)
		}
	}
}
