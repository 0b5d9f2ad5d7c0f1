package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/scripts/devstack/day"
	"github.com/labplatform/labplatform/scripts/e2e/page"
)

// TestWhatWasAcknowledgedBecomesTrueWhateverBreaks causes faults for a minute, in the long form for ten. The ledger
// also has false promises: if the checker did not find these broken, it would prove nothing.
func TestWhatWasAcknowledgedBecomesTrueWhateverBreaks(t *testing.T) {
	o := options{minutes: 1, seed: 1, faults: "kill-service,freeze-engine,cut", out: t.Output()}
	if os.Getenv("LAB_LONG_TESTS") == "1" {
		o.minutes, o.faults = 10, "all"
	}
	lies := map[string]promise{
		found:       {Deed: day.Deed{User: 1, Text: "5000000001"}},
		announced:   {Deed: day.Deed{Bill: 1}},
		answeredFor: {Deed: day.Deed{Report: 1}},
		recorded:    {Deed: day.Deed{Report: 1}},
		replaced:    {Deed: day.Deed{Report: 7001, Text: "-1"}},
		delivered:   {Deed: day.Deed{Jobs: []string{"01JD0V5Q8Z3W4X5Y6Z7A8B9C0D"}}},
		arrived:     {Deed: day.Deed{Jobs: []string{"01JD0V5Q8Z3W4X5Y6Z7A8B9C0D"}}},
		sum:         {Deed: day.Deed{Bill: 9001}},
		linked:      {Deed: day.Deed{Report: 7001}, Save: &save{Session: 1, Digest: "none"}},
		read:        {Note: 1 << 40},
	}
	numbers := map[string]bool{} // the false promises, as violations name them
	o.living = func(r *run) {
		for must, lie := range lies {
			numbers[fmt.Sprintf("promise %d (%s)", r.people.ledger.promised(must, lie), must)] = false
		}
	}
	r, err := perform(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	f := r.figures()
	t.Logf("%d faults; %d promises, %d kept; slowest recovery %v", f.Faults, f.Promised, f.Kept, f.Slowest)
	for _, violation := range f.Violations {
		name, _, _ := strings.Cut(violation, " is ")
		if _, lie := numbers[name]; !lie {
			t.Error(violation)
		}
		numbers[name] = true
	}
	for name, noticed := range numbers {
		if !noticed {
			t.Errorf("%s, which was never made, is not noticed", name)
		}
	}
	if f.Faults == 0 || f.Kept < 30 || f.Tally.Patients == 0 {
		t.Errorf("next to nothing happened: %d faults, %d promises kept, %+v", f.Faults, f.Kept, f.Tally)
	}
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("<!-- chaos -->\n<!-- end of chaos -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := page.Write(path, "chaos", pageText, f); err != nil {
		t.Error(err)
	}
}
