package save_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/store/memory"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
)

var errDied = errors.New("the process died")

// world is a bill with a report that waits and has a draft.
func world(t *testing.T) (*storetest.Fixture, *memory.Store, func(step int)) {
	t.Helper()
	c := storetest.NewClock()
	s := storetest.MemoryStore(t, c)
	b := storetest.NewFixture(t, storetest.Over(t, s), c)
	b.SetValue(storetest.Potassium, storetest.PotassiumIndex, "7.1")
	if _, err := b.Evaluate.Reports(t.Context(), storetest.Lab(t, 12), []int64{storetest.Potassium}, evaluate.Named); err != nil {
		t.Fatal(err)
	}
	if err := record(b, save.Callout{Draft: true}); err != nil {
		t.Fatal(err)
	}
	return b, s, func(step int) {
		left := step
		s.Step = func() error {
			if left--; left == 0 {
				return errDied
			}
			return nil
		}
	}
}

func record(b *storetest.Fixture, c save.Callout) error {
	c.ReportIDs = []int64{storetest.Potassium}
	return b.Record(c)
}

// TestADeathBeforeAnyStepChangesNothing kills every operation before each of its steps, and repeats it afterwards.
func TestADeathBeforeAnyStepChangesNothing(t *testing.T) {
	t.Parallel()
	operations := map[string]func(*storetest.Fixture) error{
		"draft":    func(b *storetest.Fixture) error { return record(b, save.Callout{Draft: true}) },
		"complete": func(b *storetest.Fixture) error { return record(b, save.Callout{}) },
		"evaluate a correction": func(b *storetest.Fixture) error {
			_, err := b.Evaluate.Reports(b.T.Context(), storetest.Lab(b.T, 12), []int64{storetest.Count}, evaluate.Named)
			return err
		},
		"escalate": func(b *storetest.Fixture) error {
			_, err := b.Escalate.Bill(b.T.Context(), storetest.Lab(b.T, 12), storetest.Bill)
			return err
		},
	}
	for name, operation := range operations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := 0
			for step := 1; ; step++ {
				b, s, dieAt := world(t)
				b.SetValue(storetest.Count, storetest.CountIndex, "5")
				b.Clock.Move(31 * time.Minute)
				before := s.State()
				dieAt(step)
				err := operation(b)
				if err == nil {
					break
				}
				if diff := cmp.Diff(before, s.State(), exported, cmpopts.EquateEmpty()); !errors.Is(err, errDied) || diff != "" {
					t.Fatalf("step %d: %v\n%s", step, err, diff)
				}
				s.Step = nil
				if err := operation(b); err != nil {
					t.Fatalf("after a death at step %d: %v", step, err)
				}
				steps++
			}
			if steps < 3 {
				t.Fatalf("only %d steps", steps)
			}
			t.Logf("%d steps", steps)
		})
	}
}

var exported = cmp.Exporter(func(reflect.Type) bool { return true })

func TestWhatIsWrongWithACallout(t *testing.T) {
	t.Parallel()
	b, s, _ := world(t)
	before := s.State()
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
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff(before, s.State(), exported, cmpopts.EquateEmpty()); diff != "" {
		t.Fatal(diff)
	}
	if _, err := b.Save.Save(t.Context(), storetest.Lab(t, 12), storetest.Asha, good); err != nil {
		t.Fatal(err)
	}
}
