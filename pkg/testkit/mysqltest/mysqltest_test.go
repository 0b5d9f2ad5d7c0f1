package mysqltest_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

func TestEachTestHasItsOwnDatabaseWithTheServicesSettings(t *testing.T) {
	t.Parallel()
	first, second := mysqltest.New(t), mysqltest.New(t)
	var a, b, zone, mode string
	if err := first.QueryRowContext(t.Context(), "SELECT DATABASE(), @@time_zone, @@sql_mode").Scan(&a, &zone, &mode); err != nil {
		t.Fatal(err)
	}
	if err := second.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&b); err != nil {
		t.Fatal(err)
	}
	if a == b {
		t.Fatalf("databases of two tests are both %s, want different ones", a)
	}
	if zone != "+00:00" || mode != "STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION" {
		t.Fatalf("time_zone = %q, sql_mode = %q, want the services' settings", zone, mode)
	}
}

func TestDatabaseIsDroppedAfterTheTest(t *testing.T) {
	t.Parallel()
	var name string
	t.Run("uses a database", func(t *testing.T) {
		if err := mysqltest.New(t).QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&name); err != nil {
			t.Fatal(err)
		}
	})
	var left int
	err := mysqltest.New(t).QueryRowContext(t.Context(),
		"SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?", name).Scan(&left)
	if err != nil || left != 0 {
		t.Fatalf("databases named %s = %d, want 0, error %v", name, left, err)
	}
}
