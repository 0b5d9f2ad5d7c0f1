package pending_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

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

func TestTablesOfServicesThatAreNotBuiltAreThere(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	for range 2 { // a second start finds them
		if err := pending.Create(t.Context(), db, func(service string) bool { return service != "cellcounter" }); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"cell_counter_mappings", "cell_counter_setting", "cells"}, tables(t, db)); diff != "" {
		t.Fatal(diff)
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
