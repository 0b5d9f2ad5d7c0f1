package pending_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/scripts/devstack/internal/pending"
)

func tables(t *testing.T, db *sql.DB) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY BINARY table_name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestOnlyTablesOfServicesThatAreNotBuiltAreMade(t *testing.T) {
	t.Parallel()
	all, built := mysqltest.New(t), mysqltest.New(t)
	services := pending.Services()
	for range 2 { // a second start finds them
		if err := pending.Create(t.Context(), all, func(string) bool { return false }); err != nil {
			t.Fatal(err)
		}
	}
	if err := pending.Create(t.Context(), built, func(service string) bool { return service == services[0] }); err != nil {
		t.Fatal(err)
	}
	if some, every := len(tables(t, built)), len(tables(t, all)); some >= every {
		t.Fatalf("%d tables with %s built, %d without", some, services[0], every)
	}
}

func TestEveryFileHoldsStatementsThatRun(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	if err := pending.Create(t.Context(), db, func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if names := tables(t, db); len(pending.Services()) > 0 && len(names) < len(pending.Services()) {
		t.Fatalf("tables %v of services %v", names, pending.Services())
	}
}

func TestNoBuiltServiceHasPendingTables(t *testing.T) {
	t.Parallel()
	built, err := filepath.Glob("../../../../services/*/migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range built {
		service := filepath.Base(filepath.Dir(filepath.Dir(path)))
		if slices.Contains(pending.Services(), service) {
			t.Errorf("services/%s has migrations: delete scripts/devstack/internal/pending/%s.sql", service, service)
		}
	}
}
