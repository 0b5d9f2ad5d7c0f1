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

// TestProcessesOfTwoReleasesExcludeEachOther: earlier releases named their locks by a hash.
func TestProcessesOfTwoReleasesExcludeEachOther(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	earlier, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer earlier.Close()
	claim := func() bool {
		t.Helper()
		var got sql.NullInt64
		const query = "SELECT GET_LOCK(CONCAT('lab_', LEFT(SHA2(CONCAT(DATABASE(), CHAR(0), 'test_test'), 256), 32)), 0)"
		if err := earlier.QueryRowContext(t.Context(), query).Scan(&got); err != nil {
			t.Fatal(err)
		}
		return got.Int64 == 1
	}
	later := newLeader(t, db, "test")
	if !claim() || leads(t, later) {
		t.Fatal("both lead")
	}
	if holder := printLeaders(t, db); !strings.Contains(holder, "lab_") || !strings.Contains(holder, "KILL") {
		t.Errorf("the earlier release's leader is not shown:\n%s", holder)
	}
	if _, err := earlier.ExecContext(t.Context(), "DO RELEASE_ALL_LOCKS()"); err != nil {
		t.Fatal(err)
	}
	if !leads(t, later) || claim() {
		t.Fatal("the later release does not lead, or both do")
	}
	if later.Close(t.Context()); !claim() {
		t.Fatal("a release that was rolled back to cannot lead")
	}
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
