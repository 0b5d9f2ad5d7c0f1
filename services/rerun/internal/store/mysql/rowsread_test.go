package mysql_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

// Laboratories have many tests. A message must not read formats and results of other tests and reports.
func TestAMessageReadsNoMoreThanItsReport(t *testing.T) {
	t.Parallel()
	const others = 2000
	f := setup(t)
	numbers := mysqltest.Numbers(others)
	storetest.Exec(t, f.db,
		"INSERT INTO ReportFormat (testId_id, `index`, `order`, parameterName, isDisabled, meta)"+
			" SELECT 10000 + seq, 1, 1, 'Other', 0, '{}' FROM "+numbers,
		"INSERT INTO billingInfo (billId_id, labId_id, testId_id, isProfile, profileParentId)"+
			" SELECT 10000 + seq, 12, 301, 0, 10000 + seq FROM "+numbers,
		"INSERT INTO ActivityLog (lab_id, labReportId, category, activityText, meta, activityDate)"+
			" SELECT 12, 10000 + seq, 978, 'Other', '{}', NOW() FROM "+numbers)
	for _, table := range []string{"ReportFormat", "billingInfo", "ActivityLog", "labReportRelation"} {
		storetest.Exec(t, f.db, "ANALYZE TABLE "+table)
	}
	scope := storetest.Scope(t, 12)
	for name, work := range map[string]func() error{
		"subject": func() error { _, err := f.store.Subject(t.Context(), scope, 7001); return err },
		"parameters and ledger": func() error {
			return f.store.Change(t.Context(), scope, 7001, rerun.Wants{Tests: true, Ledger: true},
				func(rerun.Facts) (rerun.Change, error) { return rerun.Change{}, nil })
		},
	} {
		read := mysqltest.RowsRead(t, f.db, func() {
			if err := work(); err != nil {
				t.Errorf("%s: got error %v, want none", name, err)
			}
		})
		if read > others/10 {
			t.Errorf("%s reads %d rows beside %d of others, want at most a tenth", name, read, others)
		}
	}
}
