package mapping_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

// scopeOf parses "a-1 b-2": key a with parameter 1 and cell 1, and so on. Ids count from 1.
func scopeOf(text string) []mapping.Row {
	var rows []mapping.Row
	for i, pair := range strings.Fields(text) {
		key, parameter, _ := strings.Cut(pair, "-")
		rows = append(rows, mapping.Row{ID: int64(i + 1), Mapping: mapping.Mapping{
			Key: mapping.StoredKey(key), CellID: int64(parameter[0] - '0'), Parameter: parameterOf(parameter), IncludeInTotal: true}})
	}
	return rows
}

func parameterOf(text string) mapping.Parameter {
	n := int(text[0] - '0')
	return mapping.Parameter{Index: n, Order: n}
}

// changesOf parses "a-1:7 b-:8 -2:9": elements with key, parameter and cell, each of which may be missing.
func changesOf(text string) []mapping.Change {
	var changes []mapping.Change
	for _, element := range strings.Fields(text) {
		var c mapping.Change
		place, cell, hasCell := strings.Cut(element, ":")
		key, parameter, _ := strings.Cut(place, "-")
		if key != "" {
			k := mapping.StoredKey(key)
			c.Key = &k
		}
		if parameter != "" {
			p := parameterOf(parameter)
			c.Parameter = &p
		}
		if hasCell {
			id := int64(cell[0] - '0')
			c.CellID = &id
		}
		changes = append(changes, c)
	}
	return changes
}

func printed(rows []mapping.Row) string {
	var parts []string
	for _, r := range rows {
		parts = append(parts, fmt.Sprintf("%s-%d:%d", r.Key, r.Parameter.Index, r.CellID))
	}
	return strings.Join(parts, " ")
}

func TestPlan(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		present, changes string
		want             string // the scope after the write; "" if it is rejected
		inserted         int
		updated          int
		kind             apperr.Kind // kind of the expected error
		says             string
	}{
		"first mapping":                      {"", "a-1:7", "a-1:7", 1, 0, 0, ""},
		"another cell for a key":             {"a-1 b-2", "a-1:7", "a-1:7 b-2:2", 0, 1, 0, ""},
		"another key for a parameter":        {"a-1 b-2", "c-1:1", "c-1:1 b-2:2", 0, 1, 0, ""},
		"another parameter for a key":        {"a-1 b-2", "a-3:1", "b-2:2 a-3:1", 0, 1, 0, ""},
		"keys exchanged":                     {"a-1 b-2", "a-2:2 b-1:1", "b-1:1 a-2:2", 0, 2, 0, ""},
		"three keys in a circle":             {"a-1 b-2 c-3", "a-2:2 b-3:3 c-1:1", "c-1:1 a-2:2 b-3:3", 0, 3, 0, ""},
		"a chain whose end is free":          {"a-1 b-2", "a-2:2 b-3:3", "a-2:2 b-3:3", 0, 2, 0, ""},
		"key in another case":                {"a-1", "A-1:7", "A-1:7", 0, 1, 0, ""},
		"only key and cell":                  {"a-1 b-2", "a-:7", "a-1:7 b-2:2", 0, 1, 0, ""},
		"only parameter and cell":            {"a-1 b-2", "-2:7", "a-1:1 b-2:7", 0, 1, 0, ""},
		"one updated, one new":               {"a-1", "a-1:7 c-3:3", "a-1:7 c-3:3", 1, 1, 0, ""},
		"a key moves and its place is taken": {"a-1", "a-2:1 c-1:3", "c-1:3 a-2:1", 1, 1, 0, ""},

		"two rows for one element":    {"a-1 b-2", "a-2:2", "", 0, 0, apperr.Conflict, "key 'a' is already mapped to the parameter (index 1, order 1)"},
		"a chain that drops its end":  {"a-1 b-2 c-3", "a-2:2 b-3:3", "", 0, 0, apperr.Conflict, "to key 'c'"},
		"a partial element collides":  {"a-1 b-2", "b-2:2 a-:1 c-1:3", "", 0, 0, apperr.Conflict, "already mapped"},
		"key given twice":             {"", "a-1:1 A-2:2", "", 0, 0, apperr.Invalid, "key 'A' is already given by element 0"},
		"parameter given twice":       {"", "a-1:1 b-1:2", "", 0, 0, apperr.Invalid, "the parameter (index 1, order 1) is already given"},
		"a new one without its cell":  {"", "a-1", "", 0, 0, apperr.Invalid, "cell_id is required for a new mapping"},
		"a new one without parameter": {"b-2", "a-:1", "", 0, 0, apperr.Invalid, "report_format_index is required for a new mapping"},
		"a new one without key":       {"b-2", "-1:1", "", 0, 0, apperr.Invalid, "key is required for a new mapping"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, err := mapping.NewPlan(scopeOf(test.present), changesOf(test.changes))
			if test.want == "" {
				if !apperr.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) {
					t.Fatalf("NewPlan = %+v, %v, want an error with %q", plan, err, test.says)
				}
				return
			}
			if err != nil || printed(plan.Result) != test.want || plan.Inserted != test.inserted || plan.Updated != test.updated {
				t.Fatalf("%q, inserted %d, updated %d, %v; want %q, %d, %d", printed(plan.Result), plan.Inserted, plan.Updated, err,
					test.want, test.inserted, test.updated)
			}
		})
	}
}

// TestAnotherKeyKeepsWhatIsCountedApart gives a cell that is counted outside the total another key, with a client that
// does not know include_in_total.
func TestAnotherKeyKeepsWhatIsCountedApart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ changes, want string }{
		"a free key":                            {"c-1:1", "c-1:false b-2:true"},
		"the keys exchanged":                    {"a-2:2 b-1:1", "b-1:false a-2:true"},
		"its key goes to a new parameter":       {"a-3:3 c-1:1", "c-1:false b-2:true a-3:true"},
		"its parameter gets another cell":       {"a-1:3", "a-1:true b-2:true"},
		"another parameter gets the cell":       {"b-2:1", "a-1:false b-2:true"},
		"the keys exchanged, without the cells": {"a-2 b-1", "b-1:true a-2:false"},
	} {
		present, changes := scopeOf("a-1 b-2"), changesOf(c.changes)
		present[0].IncludeInTotal = false
		for i := range changes {
			changes[i].Default = true
		}
		plan, err := mapping.NewPlan(present, changes)
		var got []string
		for _, r := range plan.Result {
			got = append(got, fmt.Sprintf("%s-%d:%t", r.Key, r.Parameter.Index, r.IncludeInTotal))
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

// After any write, a scope must have no key or parameter twice, and contain the requested mappings and every mapping
// that the request did not name.
func TestPlanKeepsTheRulesOfAScope(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		keys, places := []string{"a", "b", "c", "d", "e"}, []int{1, 2, 3, 4, 5}
		present := rowsOf(rapid.Permutation(keys).Draw(t, "keys"), rapid.Permutation(places).Draw(t, "places"),
			rapid.IntRange(0, len(keys)).Draw(t, "present"))
		wanted := rowsOf(rapid.Permutation(keys).Draw(t, "new keys"), rapid.Permutation(places).Draw(t, "new places"),
			rapid.IntRange(1, len(keys)).Draw(t, "wanted"))
		var changes []mapping.Change
		for _, w := range wanted {
			changes = append(changes, mapping.Change{Key: &w.Key, Parameter: &w.Parameter, CellID: &w.CellID})
		}
		plan, err := mapping.NewPlan(present, changes)
		if err != nil {
			if !apperr.Is(err, apperr.Conflict) {
				t.Fatal(err)
			}
			return
		}
		byKey, byPlace := map[string]mapping.Row{}, map[mapping.Parameter]mapping.Row{}
		for _, r := range plan.Result {
			byKey[r.Key.String()], byPlace[r.Parameter] = r, r
		}
		if len(byKey) != len(plan.Result) || len(byPlace) != len(plan.Result) {
			t.Fatalf("not unique: %s", printed(plan.Result))
		}
		for _, w := range wanted {
			if got := byKey[w.Key.String()]; got.Parameter != w.Parameter || got.CellID != w.CellID {
				t.Fatalf("%s-%v is missing in %s", w.Key, w.Parameter, printed(plan.Result))
			}
		}
		if len(plan.Result) != len(present)+plan.Inserted || plan.Inserted+plan.Updated != len(changes) {
			t.Fatalf("%d rows, then %d with %d inserted and %d updated", len(present), len(plan.Result), plan.Inserted, plan.Updated)
		}
		again, err := mapping.NewPlan(plan.Result, changes)
		if err != nil || again.Inserted != 0 || printed(again.Result) != printed(plan.Result) {
			t.Fatalf("the same write again: %v, %s", err, printed(again.Result))
		}
	})
}

func rowsOf(keys []string, places []int, n int) []mapping.Row {
	rows := make([]mapping.Row, n)
	for i := range rows {
		rows[i] = mapping.Row{ID: int64(i + 1), Mapping: mapping.Mapping{Key: mapping.StoredKey(keys[i]), CellID: int64(places[i]),
			Parameter: mapping.Parameter{Index: places[i], Order: places[i]}}}
	}
	return rows
}

func TestNewKey(t *testing.T) {
	t.Parallel()
	accepted := map[string]string{"a": "a", " A ": "A", "1": "1", "F2": "F2", " ": "Space", "ß": "ß", "ArrowLeft": "ArrowLeft", strings.Repeat("x", 16): strings.Repeat("x", 16)}
	for _, given := range slices.Sorted(maps.Keys(accepted)) {
		if key, err := mapping.NewKey(given); err != nil || key.String() != accepted[given] {
			t.Errorf("NewKey(%q) = %q, %v, want %q", given, key, err, accepted[given])
		}
	}
	for given, says := range map[string]string{"": "empty", "enter": "reserved", "BACKSPACE": "reserved", "Tab": "reserved", "Escape": "reserved", "Shift": "cannot count", "dead": "cannot count", "F5": "cannot count", ".": "another address", " .. ": "another address",
		"a b": "printable", "\x00": "printable", "a\u200b": "printable", "\xff": "printable", strings.Repeat("x", 17): "16"} {
		if _, err := mapping.NewKey(given); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("NewKey(%q) = %v, want an error with %q", given, err, says)
		}
	}
}
