package mysqldb_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

func TestALockIsNamedAfterItsServiceItsPurposeAndItsDatabase(t *testing.T) {
	t.Parallel()
	lock := mysqldb.Lock{Service: "rerun", Purpose: "sweep"}
	for database, want := range map[string]string{
		"lab":                            "lab.rerun.sweep@lab",
		"laboratories_of_the_north_2":    "lab.rerun.sweep@laboratories_of_the_north_2",
		"Lab":                            "lab.rerun.sweep@" + hashed("Lab"), // the server takes Lab and lab for one
		strings.Repeat("long", 64/4):     "lab.rerun.sweep@" + hashed(strings.Repeat("long", 64/4)),
		strings.Repeat("x", 64-16) + "":  "lab.rerun.sweep@" + strings.Repeat("x", 64-16),
		strings.Repeat("x", 64-16) + "y": "lab.rerun.sweep@" + hashed(strings.Repeat("x", 64-16)+"y"),
	} {
		if got := lock.Name(database); got != want || len(got) > 64 {
			t.Errorf("in database %s: %s, want %s", database, got, want)
		}
	}
}

func hashed(database string) string {
	sum := sha256.Sum256([]byte(database))
	return hex.EncodeToString(sum[:8])
}

func TestWhoLeadsIsShownWithWhatEndsIt(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	if shown := printLeaders(t, db); !strings.Contains(shown, "no one") || strings.Count(shown, "\n") != 2 {
		t.Errorf("without a leader:\n%s", shown)
	}
	if !leads(t, newLeader(t, db, "test")) {
		t.Fatal("no one leads")
	}
	id := holder(t, db, "test")
	shown := printLeaders(t, db)
	for _, want := range []string{"lab.test.test@labtest_", fmt.Sprintf("KILL %d", id)} {
		if !strings.Contains(shown, want) {
			t.Errorf("without %q:\n%s", want, shown)
		}
	}
}

func printLeaders(t *testing.T, db *sql.DB) string {
	t.Helper()
	var out strings.Builder
	err := mysqldb.PrintLeaders(context.WithoutCancel(t.Context()), db, []mysqldb.Lock{lockOf("test")}, &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}
