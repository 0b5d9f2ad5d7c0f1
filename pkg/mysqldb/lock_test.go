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

func TestLockName(t *testing.T) {
	t.Parallel()
	lock := mysqldb.Lock{Service: "rerun", Purpose: "sweep"}
	for database, want := range map[string]string{
		"lab":                            "lab.rerun.sweep@lab",
		"laboratories_of_the_north_2":    "lab.rerun.sweep@laboratories_of_the_north_2",
		"Lab":                            "lab.rerun.sweep@" + hashed("Lab"), // lock names are case-insensitive
		strings.Repeat("long", 64/4):     "lab.rerun.sweep@" + hashed(strings.Repeat("long", 64/4)),
		strings.Repeat("x", 64-16) + "":  "lab.rerun.sweep@" + strings.Repeat("x", 64-16),
		strings.Repeat("x", 64-16) + "y": "lab.rerun.sweep@" + hashed(strings.Repeat("x", 64-16)+"y"),
	} {
		if got := lock.Name(database); got != want || len(got) > 64 {
			t.Errorf("Name(%s) = %s, want %s of at most 64 characters", database, got, want)
		}
	}
}

func hashed(database string) string {
	sum := sha256.Sum256([]byte(database))
	return hex.EncodeToString(sum[:8])
}

func TestPrintLeadersShowsTheHolderAndTheStatementThatEndsIt(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	if shown := printLeaders(t, db); !strings.Contains(shown, "none") || strings.Count(shown, "\n") != 2 {
		t.Errorf("PrintLeaders without a leader:\n%swant none", shown)
	}
	if !leads(t, newLeader(t, db, "test")) {
		t.Fatal("leader does not lead, want it to")
	}
	id := holder(t, db, "test")
	shown := printLeaders(t, db)
	for _, want := range []string{"lab.test.test@labtest_", fmt.Sprintf("KILL %d", id)} {
		if !strings.Contains(shown, want) {
			t.Errorf("PrintLeaders lacks %q:\n%s", want, shown)
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
