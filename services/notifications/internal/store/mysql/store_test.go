package mysql_test

import (
	"database/sql"
	"log/slog"
	"testing"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/notifications/internal/store/mysql"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
	"github.com/labplatform/labplatform/services/notifications/migrations"
)

// opened is the store with a look at its outbox.
type opened struct {
	*mysql.Store
	db *sql.DB
	t  *testing.T
}

var _ storetest.Store = (*opened)(nil)

func (o opened) Events() []outbox.Event {
	rows, err := o.db.QueryContext(o.t.Context(), "SELECT aggregate, kind, payload FROM outbox_notifications ORDER BY id")
	if err != nil {
		o.t.Fatal(err)
	}
	defer rows.Close()
	var list []outbox.Event
	for rows.Next() {
		var e outbox.Event
		if err := rows.Scan(&e.Aggregate, &e.Kind, &e.Payload); err != nil {
			o.t.Fatal(err)
		}
		list = append(list, e)
	}
	if err := rows.Err(); err != nil {
		o.t.Fatal(err)
	}
	return list
}

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
	if _, err := db.ExecContext(t.Context(),
		"INSERT INTO labUser (id, labId_id, username, isAdmin) VALUES (77, 12, 'asha', 0), (79, 12, 'admin', 1), (87, 13, 'liya', 0)"); err != nil {
		t.Fatal(err)
	}
	store, err := mysql.New(db, clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	return opened{store, db, t}
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, open)
}
