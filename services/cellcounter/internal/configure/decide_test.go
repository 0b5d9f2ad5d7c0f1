package configure_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/storetest"
)

var (
	now   = time.Unix(1_790_000_000, 0)
	asha  = authn.Actor{Kind: authn.ActorLabUser, ID: 77}
	cells = map[int64]mapping.Cell{1: {ID: 1}, 2: {ID: 2}, 3: {ID: 3, Name: "Stem cell", Disabled: true}}
)

// scope returns facts with the parameters 1 to 4 and with rows given as "key parameter cell", with ids from 1.
func scope(rows ...string) configure.Facts {
	f := configure.Facts{Cells: cells, Formats: map[int64]mapping.Parameter{}}
	for n := 1; n <= 4; n++ {
		f.Formats[int64(5500+n)] = mapping.Parameter{Index: n, Order: n}
	}
	f.Rows = rowsOf(rows)
	return f
}

func rowsOf(texts []string) []mapping.Row {
	var rows []mapping.Row
	for i, text := range texts {
		var key string
		var parameter int
		var cell int64
		_, _ = fmt.Sscan(text, &key, &parameter, &cell)
		row := storetest.Row(key, parameter, cell)
		row.ID = int64(i + 1)
		rows = append(rows, row)
	}
	return rows
}

// printed formats rows as scope reads them, with their ids.
func printed(rows []mapping.Row) string {
	texts := make([]string, len(rows))
	for i, r := range rows {
		texts[i] = fmt.Sprintf("%d: %s %d %d", r.ID, r.Key, r.Parameter.Index, r.CellID)
	}
	return strings.Join(texts, ", ")
}

// element returns an element of a write. A parameter or format of 0 is absent.
func element(key string, parameter int, cell, format int64) configure.Element {
	k := mapping.StoredKey(key)
	e := configure.Element{Change: mapping.Change{Key: &k, CellID: &cell}}
	if parameter != 0 {
		e.Parameter = &mapping.Parameter{Index: parameter, Order: parameter}
	}
	if format != 0 {
		e.FormatID = &format
	}
	return e
}

func TestAWriteIsDecidedOnTheFacts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		facts    configure.Facts
		elements []configure.Element
		want     string // rows to write, or field and message of the error
	}{
		"a new mapping":               {scope(), []configure.Element{element("a", 1, 1, 0)}, "0: a 1 1"},
		"a parameter by its format":   {scope(), []configure.Element{element("a", 0, 1, 5504)}, "0: a 4 1"},
		"the same parameter twice":    {scope(), []configure.Element{element("a", 4, 1, 5504)}, "0: a 4 1"},
		"a rewritten mapping":         {scope("a 1 1"), []configure.Element{element("a", 1, 2, 0)}, "1: a 1 2"},
		"another test's format":       {scope(), []configure.Element{element("a", 0, 1, 5601)}, "report_format_id 5601 does not belong to this test"},
		"two parameters":              {scope(), []configure.Element{element("a", 1, 1, 5504)}, "report_format_id 5504 is the parameter with index 4, order 4"},
		"an unknown parameter":        {scope(), []configure.Element{element("a", 9, 1, 0)}, "this test has no parameter with index 9"},
		"an unknown cell":             {scope(), []configure.Element{element("a", 1, 99, 0)}, "there is no cell 99"},
		"a disabled cell":             {scope(), []configure.Element{element("a", 1, 3, 0)}, "the cell Stem cell is disabled"},
		"a cell disabled since":       {scope("a 1 3"), []configure.Element{element("a", 1, 3, 0)}, "1: a 1 3"},
		"it, on another parameter":    {scope("a 1 3"), []configure.Element{element("a", 4, 3, 0)}, "1: a 4 3"},
		"it, by another key":          {scope("a 1 3"), []configure.Element{element("z", 1, 3, 0)}, "1: z 1 3"},
		"it, a second time":           {scope("a 1 3"), []configure.Element{element("b", 2, 3, 0)}, "the cell Stem cell is disabled"},
		"it, in place of another one": {scope("a 1 3", "c 2 1"), []configure.Element{element("c", 2, 3, 0)}, "the cell Stem cell is disabled"},
	} {
		w := configure.Write{Owner: storetest.Lab(t, 12), Elements: c.elements, Actor: asha}
		d, err := w.Decide(c.facts, now)
		got := printed(d.Write)
		if e, ok := apperr.From(err); ok && len(e.Fields) == 1 {
			got = e.Fields[0].Message
		}
		if !strings.HasPrefix(got, c.want) || got == "" {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
		if err == nil && (d.By != asha || d.At != now.Unix()) {
			t.Errorf("%s: written by %v at %d, want %v at %d", name, d.By, d.At, asha, now.Unix())
		}
	}
}

func TestTheFirstWriteMayStartFromACopyOfTheDefaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		owner mapping.Owner
		own   []string
		want  string
	}{
		"the laboratory has none": {storetest.Lab(t, 12), nil, "0: b 2 1, 0: a 1 1"},
		"it has mappings":         {storetest.Lab(t, 12), []string{"c 3 1"}, "0: b 2 1"},
		"the defaults themselves": {mapping.Defaults(), nil, "0: b 2 1"},
	} {
		facts := scope(c.own...)
		facts.Defaults = rowsOf([]string{"a 1 1", "b 2 2"})
		w := configure.Write{Owner: c.owner, CopyDefaults: true, Elements: []configure.Element{element("b", 2, 1, 0)}}
		d, err := w.Decide(facts, now)
		slices.SortFunc(d.Write, func(a, b mapping.Row) int { return b.Parameter.Index - a.Parameter.Index })
		if got := printed(d.Write); err != nil || got != c.want || d.Inserted != len(d.Write) || d.Updated != 0 {
			t.Errorf("%s: %q, %d inserted, %d updated, %v; want %q, all inserted", name, got, d.Inserted, d.Updated, err, c.want)
		}
	}
}

func TestARemovalLeavesTheOtherMappings(t *testing.T) {
	t.Parallel()
	facts := scope("a 1 1", "b 2 2")
	d, err := configure.DecideRemove(facts, mapping.StoredKey("A"))
	if err != nil || printed(d.Delete) != "1: a 1 1" || printed(d.Rows) != "2: b 2 2" || len(facts.Rows) != 2 {
		t.Errorf("key A: delete %q, left %q, %v; want a deleted and b left", printed(d.Delete), printed(d.Rows), err)
	}
	if _, err := configure.DecideRemove(facts, mapping.StoredKey("z")); !apperr.Is(err, apperr.NotFound) {
		t.Errorf("key z: %v, want NotFound", err)
	}
	d, err = configure.DecideReset(facts)
	if err != nil || printed(d.Delete) != printed(facts.Rows) || !d.DropTarget {
		t.Errorf("a reset: %+v, %v; want all rows and the target deleted", d, err)
	}
}
