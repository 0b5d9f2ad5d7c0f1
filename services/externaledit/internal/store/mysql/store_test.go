package mysql_test

import (
	"database/sql"
	"testing"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
	"github.com/labplatform/labplatform/services/externaledit/migrations"
)

var template = mysqltest.Template{Platform: mysql.LegacyColumns(), Schemas: migrations.Schemas()}

func TestTheDatabasePassesTheSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		d := storetest.New(t, clock.Fixed(storetest.Now))
		return storetest.Subject{
			Editing: mysql.Editing{Store: d.Store}, Uploads: mysql.Uploads{Store: d.Store}, History: mysql.History{Store: d.Store},
			Sweep: d.Store, AddReport: d.AddReport, RemoveReport: d.RemoveReport, AddTemplate: d.AddTemplate, SetListed: d.SetListed,
			Events: func() (names []session.EventName) {
				for _, e := range d.Events() {
					names = append(names, e.Name)
				}
				return names
			},
		}
	})
}

func exec(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}
