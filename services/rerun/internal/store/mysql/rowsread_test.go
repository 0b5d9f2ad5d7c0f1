package mysql_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/store/enginetest"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mysql"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

// Laboratories have many tests: what a message needs is read without the formats and results of all others.
func TestAMessageReadsNoMoreThanItsReport(t *testing.T) {
	t.Parallel()
	const others = 2000
	b := setup(t)
	numbers := mysqltest.Numbers(others)
	enginetest.Exec(t, b.db,
		"INSERT INTO ReportFormat (testId_id, `index`, `order`, parameterName, isDisabled, meta)"+
			" SELECT 10000 + seq, 1, 1, 'Other', 0, '{}' FROM "+numbers,
		"INSERT INTO billingInfo (billId_id, labId_id, testId_id, isProfile, profileParentId)"+
			" SELECT 10000 + seq, 12, 301, 0, 10000 + seq FROM "+numbers,
		"INSERT INTO ActivityLog (lab_id, labReportId, category, activityText, meta, activityDate)"+
			" SELECT 12, 10000 + seq, 978, 'Other', '{}', NOW() FROM "+numbers)
	for _, table := range []string{"ReportFormat", "billingInfo", "ActivityLog", "labReportRelation"} {
		enginetest.Exec(t, b.db, "ANALYZE TABLE "+table)
	}
	scope := storetest.Scope(t, 12)
	for name, work := range map[string]func() error{
		"subject": func() error { _, err := b.store.Subject(t.Context(), scope, 7001); return err },
		"parameters and ledger": func() error {
			return mysql.Receipts{Store: b.store}.Lock(t.Context(), scope, 7001, func(l receive.Locked) error {
				if _, err := l.Parameters(t.Context()); err != nil {
					return err
				}
				_, err := l.Ledger(t.Context())
				return err
			})
		},
	} {
		read := mysqltest.RowsRead(t, b.db, func() {
			if err := work(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		if read > others/10 {
			t.Errorf("%s reads %d rows beside %d of others", name, read, others)
		}
	}
}
