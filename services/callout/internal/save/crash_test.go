package save_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
)

// world returns a fixture whose bill has a draft, a waiting report, and a report with a critical value that has not
// been evaluated.
func world(t *testing.T, db *sql.DB) *storetest.Fixture {
	t.Helper()
	b := storetest.Over(t, db, storetest.NewClock())
	b.Pending()
	b.Must(record(b, save.Callout{Draft: true}))
	b.SetValue(storetest.Count, storetest.CountIndex, "5")
	b.Clock.Advance(31 * time.Minute)
	return b
}

func record(b *storetest.Fixture, c save.Callout) error {
	c.ReportIDs = []int64{storetest.Potassium}
	return b.Record(c)
}

// TestADeathBeforeAnyStatementChangesNothing aborts every operation before each of its statements, and loses the
// response to the commit. It checks that repeating the operation leads to the same state as an undisturbed run.
func TestADeathBeforeAnyStatementChangesNothing(t *testing.T) {
	t.Parallel()
	operations := map[string]func(*storetest.Fixture) error{
		"draft":    func(b *storetest.Fixture) error { return record(b, save.Callout{Draft: true}) },
		"complete": func(b *storetest.Fixture) error { return record(b, save.Callout{}) },
		"evaluate": func(b *storetest.Fixture) error {
			_, err := b.Evaluate.Reports(b.T.Context(), storetest.Lab(b.T, 12), []int64{storetest.Count}, callout.Event{Named: true})
			return err
		},
		"escalate": func(b *storetest.Fixture) error {
			_, err := b.Evaluate.Due(b.T.Context(), storetest.Lab(b.T, 12), storetest.Bill)
			return err
		},
	}
	for name, operation := range operations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := world(t, storetest.NewDatabase(t))
			before := state(t, whole.DB)
			whole.Must(operation(whole))
			after := state(t, whole.DB)
			var b *storetest.Fixture
			open := func() string {
				db, dsn := storetest.OpenDatabase(t)
				b = world(t, db)
				return dsn
			}
			run := func(db *sql.DB) error { return operation(storetest.Over(t, db, b.Clock)) }
			crashes := crashdb.Each(t, open, run, func(c crashdb.Crash, _ error) {
				got := state(t, b.DB)
				if got != before && (!c.AnswerLost || got != after) {
					t.Fatalf("%v: the state is\n%s\nwant the state before\n%s", c, got, before)
				}
				err := operation(b)
				if got == after && apperr.Is(err, apperr.Conflict) {
					return // the callout was saved and acknowledged
				}
				if err != nil {
					t.Fatalf("%v: repeating it returns %v, want success", c, err)
				}
			})
			if len(crashes) < 8 {
				t.Fatalf("%d crashes, want at least 8", len(crashes))
			}
		})
	}
}

// state returns the content of the tables without ids and times.
func state(t *testing.T, db *sql.DB) string {
	t.Helper()
	text := ""
	for _, query := range []string{
		"SELECT CONCAT_WS(' ', id, criticalValues) FROM labReportRelation ORDER BY id",
		"SELECT CONCAT_WS(' ', lab_report_id, statement_key, heard, takes_back) FROM callout_statement ORDER BY id",
		"SELECT CONCAT_WS(' ', lab_report_id, escalations, due_at, closed_by) FROM callout_episode ORDER BY id",
		"SELECT CONCAT_WS(' ', bill_id, lab_report_id) FROM CriticalCallout ORDER BY id",
		"SELECT CONCAT_WS(' ', kind, dedupe_key) FROM outbox_callout ORDER BY id",
		"SELECT CONCAT_WS(' ', labReportId, activityText) FROM ActivityLog ORDER BY id",
	} {
		err := mysqldb.Each(t.Context(), db, query, nil, func(r *sql.Rows) error {
			var line string
			err := r.Scan(&line)
			text += line + "\n"
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		text += "--\n"
	}
	return text
}

func TestInvalidCalloutsAreRefused(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	b.Pending()
	before := state(t, b.DB)
	yes, no := true, false
	good := save.Callout{BillID: storetest.Bill, ReportIDs: []int64{storetest.Potassium}, Recipients: []string{"a"}, Methods: []string{"call"}, ReadBack: &yes, Person: "Dr Rao"}
	for name, change := range map[string]func(*save.Callout){
		"no reports":                func(c *save.Callout) { c.ReportIDs = nil },
		"501 reports":               func(c *save.Callout) { c.ReportIDs = make([]int64, 501) },
		"report 0":                  func(c *save.Callout) { c.ReportIDs = []int64{0} },
		"no recipients":             func(c *save.Callout) { c.Recipients = nil },
		"a blank recipient":         func(c *save.Callout) { c.Recipients = []string{" "} },
		"21 recipients":             func(c *save.Callout) { c.Recipients = strings.Split(strings.Repeat("a,", 20)+"a", ",") },
		"no methods":                func(c *save.Callout) { c.Methods = nil },
		"a long comment":            func(c *save.Callout) { c.Comment = strings.Repeat("é", 5001) },
		"a long person":             func(c *save.Callout) { c.Person = strings.Repeat("é", 256) },
		"an unknown outcome":        func(c *save.Callout) { c.Outcome = "well" },
		"no one reached":            func(c *save.Callout) { c.Outcome = callout.UnableToReach },
		"no one named":              func(c *save.Callout) { c.Person = " " },
		"no one named face to face": func(c *save.Callout) { c.Person, c.Methods = "", []string{"email", "Face-to-face"} },
		"a person of signs":         func(c *save.Callout) { c.Person = "\u200b-." },
		"a person of one letter":    func(c *save.Callout) { c.Person = "A" },
		"no one named, telephonic":  func(c *save.Callout) { c.Person, c.Methods = "", []string{"Telephonic"} },
		"no one named, फ़ोन":        func(c *save.Callout) { c.Person, c.Methods = "", []string{"फ़ोन"} },
		"no one named on WhatsApp":  func(c *save.Callout) { c.Person, c.Methods = "", []string{"WhatsApp call (ward)"} },
		"a call before the result":  func(c *save.Callout) { c.NotifiedAt = "2026-11-21T08:59:59Z" },
		"1970":                      func(c *save.Callout) { c.NotifiedAt = "1970-01-01T00:00:00Z" },
		"a contradiction":           func(c *save.Callout) { c.Outcome, c.ReadBack = callout.Confirmed, &no },
		"a time without a zone":     func(c *save.Callout) { c.NotifiedAt = "2026-11-21T09:00:00" },
		"a call in the future":      func(c *save.Callout) { c.NotifiedAt = "2026-11-21T09:01:01Z" },
		"a report of another bill":  func(c *save.Callout) { c.ReportIDs = append(c.ReportIDs, storetest.Second) },
	} {
		c := good
		change(&c)
		_, err := b.Save.Save(t.Context(), storetest.Lab(t, 12), storetest.Asha, c)
		if !apperr.Is(err, apperr.Invalid) {
			t.Errorf("%s: got %v, want kind Invalid", name, err)
		}
	}
	if got := state(t, b.DB); got != before {
		t.Fatalf("refused callouts changed the state to\n%s\nwant\n%s", got, before)
	}
	if _, err := b.Save.Save(t.Context(), storetest.Lab(t, 12), storetest.Asha, good); err != nil {
		t.Fatal(err)
	}
}
