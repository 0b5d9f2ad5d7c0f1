package observe_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/cellcounter/internal/counting"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
)

const test = 55

var (
	now    = time.Unix(1_790_000_000, 0)
	asha   = authn.Actor{Kind: authn.ActorLabUser, ID: 77}
	ravi   = authn.Actor{Kind: authn.ActorLabUser, ID: 80}
	doctor = authn.Actor{Kind: authn.ActorDoctor, ID: 77}
	noKind = authn.Actor{ID: 77} // as another program may store it
)

func count(observer int, by authn.Actor, cell int64, n int) observe.Count {
	return observe.Count{Observer: observer, CountedBy: by, CountedAt: now.Unix(), Version: 1,
		Tallies: []counting.Tally{{CellID: cell, Count: n, InTotal: true}}}
}

// saving returns a request of a caller who saw version 1 of the count, if it exists.
func saving(observer int, by authn.Actor, cell int64, n int) observe.Saving {
	return observe.Saving{TestID: test, Observer: observer, By: by, Given: []observe.Given{{CellID: cell, Count: n}}}
}

func seen(version int64, s observe.Saving) observe.Saving {
	s.IfVersion = version
	return s
}

func facts(counts ...observe.Count) observe.Facts {
	return observe.Facts{Report: observe.Report{ID: 7001, BillID: 1, TestID: test}, Counts: counts,
		Cells: mapping.ByID([]mapping.Cell{{ID: 1}, {ID: 2}, {ID: 13, NucleatedRed: true}})}
}

func closed(edit func(*observe.Report)) observe.Facts {
	f := facts()
	edit(&f.Report)
	return f
}

func TestACountIsDecidedOnTheFacts(t *testing.T) {
	t.Parallel()
	const first, nothing, replaced = "stored", "nothing changes", "stored and logged"
	for name, c := range map[string]struct {
		facts observe.Facts
		saves observe.Saving
		want  string // the stored count, or the reason of the error
		all   string // observers with the version and the count afterwards
	}{
		"the first count":             {facts(), saving(1, asha, 1, 100), first, "1.1:100"},
		"the second observer":         {facts(count(1, asha, 1, 100)), saving(2, ravi, 1, 90), first, "1.1:100 2.1:90"},
		"the first comes second":      {facts(count(2, ravi, 1, 90)), saving(1, asha, 1, 100), first, "1.1:100 2.1:90"},
		"a doctor with the user's id": {facts(count(1, asha, 1, 100)), saving(2, doctor, 1, 90), first, "1.1:100 2.1:90"},
		"the same request again":      {facts(count(1, asha, 1, 100)), saving(1, asha, 1, 100), nothing, "1.1:100"},
		"a replacement repeated":      {facts(version(4, count(1, asha, 1, 100))), seen(3, saving(1, asha, 1, 100)), nothing, "1.4:100"},
		"again, stored without kind":  {facts(count(1, noKind, 1, 100)), saving(1, asha, 1, 100), nothing, "1.1:100"},
		"the same, without kind":      {facts(count(1, noKind, 1, 100)), saving(2, doctor, 1, 90), "SAME_OBSERVER", ""},
		"another number, seen":        {facts(count(1, asha, 1, 100)), seen(1, saving(1, asha, 1, 80)), replaced, "1.2:80"},
		"one cell, not seen":          {facts(count(1, asha, 1, 100)), saving(1, asha, 1, 1), "COUNT_STORED", ""},
		"zeros, not seen":             {facts(count(1, asha, 1, 100)), saving(1, asha, 1, 0), "COUNT_STORED", ""},
		"an older one was seen":       {facts(version(3, count(1, asha, 1, 100))), seen(2, saving(1, asha, 1, 80)), "COUNT_STORED", ""},
		"a newer one was seen":        {facts(version(3, count(1, asha, 1, 100))), seen(4, saving(1, asha, 1, 80)), "COUNT_STORED", ""},
		"one was seen, none is there": {facts(), seen(1, saving(1, asha, 1, 80)), "NO_STORED_COUNT", ""},
		"another person, seen":        {facts(count(1, asha, 1, 100)), seen(1, saving(1, ravi, 1, 100)), replaced, "1.2:100"},
		"another person, not seen":    {facts(count(1, asha, 1, 100)), saving(1, ravi, 1, 100), "COUNT_STORED", ""},
		"one of two":                  {facts(count(1, asha, 1, 100), count(2, ravi, 1, 90)), seen(1, saving(1, asha, 1, 80)), replaced, "1.2:80 2.1:90"},
		"the second is the first":     {facts(count(1, asha, 1, 100)), saving(2, asha, 1, 90), "SAME_OBSERVER", ""},
		"the same of a new sample":    {facts(previousSample(count(1, asha, 1, 100))), seen(1, saving(1, asha, 1, 100)), replaced, "1.2:100"},
		"a new sample, not seen":      {facts(previousSample(count(1, asha, 1, 100))), saving(1, asha, 1, 100), "COUNT_STORED", ""},
		"the second of a new sample":  {facts(previousSample(count(1, asha, 1, 100))), saving(2, asha, 1, 90), first, "1.1:100 2.1:90"},
		"an unknown cell":             {facts(), saving(1, asha, 99, 100), "INVALID_ARGUMENT", ""},
		"another test's report":       {closed(func(r *observe.Report) { r.TestID = 56 }), saving(1, asha, 1, 100), "INVALID_ARGUMENT", ""},
		"a signed report":             {closed(func(r *observe.Report) { r.Signed = true }), saving(1, asha, 1, 100), "REPORT_SIGNED", ""},
		"another sample by now":       {closed(sample("S-2")), of("S-1", saving(1, asha, 1, 100)), "SAMPLE_CHANGED", ""},
		"the sample as it was":        {closed(sample("S-2")), of("S-2", saving(1, asha, 1, 100)), first, "1.1:100"},
		"a sample numbered later":     {closed(sample("S-2")), saving(1, asha, 1, 100), first, "1.1:100"},
		"a sample without its number": {facts(), of("S-1", saving(1, asha, 1, 100)), first, "1.1:100"},
		"a dismissed report":          {closed(func(r *observe.Report) { r.Dismissed = true }), saving(1, asha, 1, 100), "REPORT_DISMISSED", ""},
	} {
		d, err := observe.Decide(c.facts, c.saves, now)
		got := first
		if e, ok := apperr.From(err); ok {
			got = e.Reason
		} else if d.Put == nil {
			got = nothing
		} else if d.Log != nil {
			got = replaced
		}
		if got != c.want || counts(d.Counts) != c.all {
			t.Errorf("%s: %s with counts %q, want %s with %q", name, got, counts(d.Counts), c.want, c.all)
		}
	}
}

// sample returns an edit that gives the report a sample.
func sample(id string) func(*observe.Report) { return func(r *observe.Report) { r.SampleID = id } }

// of returns a request that names the counted sample.
func of(sample string, s observe.Saving) observe.Saving {
	s.SampleID = sample
	return s
}

// previousSample returns c as a count that was made before another sample was taken.
func previousSample(c observe.Count) observe.Count {
	c.OtherSample = true
	return c
}

func version(n int64, c observe.Count) observe.Count {
	c.Version = n
	return c
}

// TestARefusalDescribesTheStoredCount replaces a count of two kinds of cells that the caller has not seen. The refusal
// must describe the stored count.
func TestARefusalDescribesTheStoredCount(t *testing.T) {
	t.Parallel()
	stored := version(3, count(1, authn.Actor{Kind: authn.ActorLabUser, ID: 80, Name: "Ravi K"}, 1, 60))
	stored.Tallies = append(stored.Tallies, counting.Tally{CellID: 13, Count: 40})
	_, err := observe.Decide(facts(stored), saving(1, asha, 1, 1), now)
	e, ok := apperr.From(err)
	const says, data = "100 cells of observer 1 are stored, counted at 2026-09-21T14:13:20Z (version 3)",
		`{"counted_at":1790000000,"counted_by_name":"Ravi K","observer":1,"total":100,"version":3}`
	if !ok || e.Kind != apperr.Conflict || !strings.HasPrefix(e.Message, says) || string(e.Data) != data {
		t.Errorf("%v with data %s, want a conflict that says %q and data %s", err, e.Data, says, data)
	}
}

// TestNucleatedRedCellsAreCountedSeparately saves 10 of them, without and with include_in_total.
func TestNucleatedRedCellsAreCountedSeparately(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for name, c := range map[string]struct {
		given    observe.Given
		inTotal  bool
		warnings int
	}{
		"not said":             {observe.Given{CellID: 13, Count: 10}, false, 0},
		"separately":           {observe.Given{CellID: 13, Count: 10, InTotal: &no}, false, 0},
		"in the total":         {observe.Given{CellID: 13, Count: 10, InTotal: &yes}, true, 1},
		"a white cell":         {observe.Given{CellID: 1, Count: 10}, true, 0},
		"a white cell outside": {observe.Given{CellID: 1, Count: 10, InTotal: &no}, false, 0},
	} {
		s := saving(1, asha, 1, 1)
		s.Given = []observe.Given{c.given}
		d, err := observe.Decide(facts(), s, now)
		if err != nil || d.Put.Tallies[0].InTotal != c.inTotal || len(d.Warnings) != c.warnings {
			t.Errorf("%s: %+v, %v, warnings %v; want in the total: %v, %d warnings", name, d.Put, err, d.Warnings, c.inTotal, c.warnings)
		}
	}
}

func counts(list []observe.Count) string {
	texts := make([]string, len(list))
	for i, c := range list {
		texts[i] = fmt.Sprintf("%d.%d:%d", c.Observer, c.Version, c.Tallies[0].Count)
	}
	return strings.Join(texts, " ")
}

func TestTheLogKeepsTheReplacedCount(t *testing.T) {
	t.Parallel()
	d, err := observe.Decide(facts(count(1, asha, 1, 100)), seen(1, saving(1, ravi, 2, 80)), now)
	if err != nil || d.Log == nil {
		t.Fatalf("%+v, %v; want an entry", d, err)
	}
	meta, err := json.Marshal(d.Log.Meta)
	const want = `{"test_id":55,"observer":1,` +
		`"old":{"counted_by_kind":"lab_user","counted_by":77,"counted_at":1790000000,"counts":[{"cell_id":1,"count":100,"include_in_total":true}]},` +
		`"new":{"counted_by_kind":"lab_user","counted_by":80,"counted_at":1790000000,"counts":[{"cell_id":2,"count":80,"include_in_total":true}]}}`
	if err != nil || string(meta) != want {
		t.Errorf("meta, %v:\ngot  %s\nwant %s", err, meta, want)
	}
	if d.Log.ReportID != 7001 || d.Log.BillID != 1 || d.Log.Actor != ravi || !d.Log.At.Equal(now) {
		t.Errorf("the entry is %+v, want it of report 7001, bill 1 and user 80", d.Log)
	}
}
