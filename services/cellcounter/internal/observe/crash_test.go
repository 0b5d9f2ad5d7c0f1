package observe_test

import (
	"database/sql"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/mysql"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/storetest"
)

// TestADeathKeepsACountWithItsLog aborts the replacement of a count. The new count and the log entry about the old one
// are stored together and once, even if the request is repeated.
func TestADeathKeepsACountWithItsLog(t *testing.T) {
	t.Parallel()
	lab := observe.Access{Lab: storetest.Scope(t, 12)}
	save := func(db *sql.DB, by authn.Actor, n int, seen int64) error {
		s := saving(1, by, 1, n)
		s.ReportID, s.IfVersion = storetest.Report, seen
		_, err := observe.New(mysql.New(db), clock.System{}).Save(t.Context(), lab, s)
		return err
	}
	var db *sql.DB
	open := func() (dsn string) {
		db, dsn = storetest.OpenDSN(t)
		if err := save(db, asha, 100, 0); err != nil {
			t.Fatal(err)
		}
		return dsn
	}
	expect := func(c crashdb.Crash, when string, want string, wantEntries int) {
		_, stored, err := mysql.New(db).Counts(t.Context(), lab, storetest.Report, storetest.OwnTest)
		if err != nil {
			t.Fatal(err)
		}
		var entries int
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM ActivityLog").Scan(&entries); err != nil {
			t.Fatal(err)
		}
		if counts(stored) != want || entries != wantEntries {
			t.Errorf("the process %s, %s: counts %q and %d entries, want %q and %d", c, when, counts(stored), entries, want, wantEntries)
		}
	}
	crashes := crashdb.Each(t, open, func(db *sql.DB) error { return save(db, ravi, 80, 1) }, func(c crashdb.Crash, _ error) {
		if c.AnswerLost {
			expect(c, "then", "1.2:80", 1)
		} else {
			expect(c, "then", "1.1:100", 0)
		}
		if err := save(db, ravi, 80, 1); err != nil {
			t.Errorf("the process %s; the request again: %v", c, err)
		}
		expect(c, "after the request again", "1.2:80", 1)
	})
	if len(crashes) < 7 {
		t.Errorf("%d crashes, want one for each statement: %v", len(crashes), crashes)
	}
}
