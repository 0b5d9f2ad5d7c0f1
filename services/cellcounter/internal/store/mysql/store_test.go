package mysql_test

import (
	"log/slog"
	"testing"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/mysql"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/storetest"
	"github.com/labplatform/labplatform/services/cellcounter/migrations"
)

func open(t *testing.T) storetest.Store {
	t.Helper()
	db := mysqltest.New(t)
	if err := legacydb.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if err := mysqldb.RequireColumns(t.Context(), db, mysql.LegacyColumns()); err != nil {
		t.Fatal(err)
	}
	if err := mysqldb.Migrate(t.Context(), db, migrations.Schemas(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"INSERT INTO AllTests (id, labId_id, testName) VALUES (55, 12, 'Blood count'), (56, NULL, 'Differential')",
		"INSERT INTO ReportFormat (id, testId_id, `index`, `order`, parameterName, isDisabled) VALUES" +
			" (5501,55,1,1,'A',0), (5502,55,2,2,'B',0), (5503,55,3,3,'C',0), (5504,55,4,4,'D',0), (5505,55,5,5,'E',0), (5506,55,6,6,'F',1), (5601,56,1,1,'A',0)",
		"UPDATE cells SET is_disable = 1 WHERE id = 3",
		"INSERT INTO labReportRelation (id, labId_id, billId_id, billingInfoId_id, userDetailsId_id, reportID_id) VALUES (7001, 12, 1, 1, 1, 55)",
		"INSERT INTO billing (id, labId_id, labBillId, userDetailsId_id, docId_id) VALUES (1, 12, 1, 1, 301)",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	s := mysql.New(db, clock.System{})
	return storetest.Store{Store: s, Observe: mysql.Observe{Store: s}}
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, open)
}
