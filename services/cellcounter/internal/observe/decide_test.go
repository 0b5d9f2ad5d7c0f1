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
	return observe.Count{Observer: observer, CountedBy: by, CountedAt: now.Unix(),
		Tallies: []counting.Tally{{CellID: cell, Count: n, InTotal: true}}}
}

func facts(counts ...observe.Count) observe.Facts {
	return observe.Facts{Report: observe.Report{ID: 7001, BillID: 1, TestID: test}, Counts: counts,
		Cells: map[int64]bool{1: true, 2: true}}
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
		count observe.Count
		want  string // what is stored, or the reason of the refusal
		all   string // observers and their counts afterwards
	}{
		"the first count":             {facts(), count(1, asha, 1, 100), first, "1:100"},
		"the second observer":         {facts(count(1, asha, 1, 100)), count(2, ravi, 1, 90), first, "1:100 2:90"},
		"the first comes second":      {facts(count(2, ravi, 1, 90)), count(1, asha, 1, 100), first, "1:100 2:90"},
		"a doctor with the user's id": {facts(count(1, asha, 1, 100)), count(2, doctor, 1, 90), first, "1:100 2:90"},
		"the same request again":      {facts(count(1, asha, 1, 100)), count(1, asha, 1, 100), nothing, "1:100"},
		"again, stored without kind":  {facts(count(1, noKind, 1, 100)), count(1, asha, 1, 100), nothing, "1:100"},
		"the same, without kind":      {facts(count(1, noKind, 1, 100)), count(2, doctor, 1, 90), "SAME_OBSERVER", ""},
		"another number":              {facts(count(1, asha, 1, 100)), count(1, asha, 1, 80), replaced, "1:80"},
		"another person":              {facts(count(1, asha, 1, 100)), count(1, ravi, 1, 100), replaced, "1:100"},
		"one of two":                  {facts(count(1, asha, 1, 100), count(2, ravi, 1, 90)), count(1, asha, 1, 80), replaced, "1:80 2:90"},
		"the second is the first":     {facts(count(1, asha, 1, 100)), count(2, asha, 1, 90), "SAME_OBSERVER", ""},
		"an unknown cell":             {facts(), count(1, asha, 99, 100), "INVALID_ARGUMENT", ""},
		"another test's report":       {closed(func(r *observe.Report) { r.TestID = 56 }), count(1, asha, 1, 100), "INVALID_ARGUMENT", ""},
		"a signed report":             {closed(func(r *observe.Report) { r.Signed = true }), count(1, asha, 1, 100), "REPORT_SIGNED", ""},
		"a dismissed report":          {closed(func(r *observe.Report) { r.Dismissed = true }), count(1, asha, 1, 100), "REPORT_DISMISSED", ""},
	} {
		d, err := observe.Decide(c.facts, test, c.count, now)
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

func counts(list []observe.Count) string {
	texts := make([]string, len(list))
	for i, c := range list {
		texts[i] = fmt.Sprint(c.Observer, ":", c.Tallies[0].Count)
	}
	return strings.Join(texts, " ")
}

func TestTheLogKeepsTheReplacedCount(t *testing.T) {
	t.Parallel()
	d, err := observe.Decide(facts(count(1, asha, 1, 100)), test, count(1, ravi, 2, 80), now)
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
