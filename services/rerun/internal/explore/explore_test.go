// Package explore_test runs all short histories of one report through the decisions of the use cases, without stores.
package explore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/testkit/engine"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/sweep"
)

var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// world is one report with its documents, and the announcements that the callout service received.
type world struct {
	facts    rerun.Facts
	records  []rerun.Record
	values   []rerun.Value
	now      time.Time
	ids      int
	received map[string]bool // messages that instruments sent on their own
	known    rerun.Announcement
	died     bool // a process crashed since the last sweep
	breaks   mutant
}

// mutant breaks one rule of a decision, to show that the test detects it.
type mutant struct {
	change func(rerun.Change) rerun.Change
	facts  func(rerun.Facts) rerun.Facts
}

func newWorld(m mutant) *world {
	w := &world{now: start, ids: 100, received: map[string]bool{}, breaks: m}
	w.facts.Report = rerun.Report{ID: 7001, LabID: 12, SampleID: "S"}
	w.facts.Tests = rerun.Tests{Own: 60, Parameters: []rerun.Parameter{
		{TestID: 61, Index: 1, Name: "K"}, {TestID: 62, Index: 1, Name: "Na"}, {TestID: 62, Index: 2, Name: "Cl"}}}
	w.facts.Results = []rerun.Result{{ID: 1, ProfileTestID: 61, Index: 1, ParameterName: "K", Value: "7.9"},
		{ID: 2, ProfileTestID: 62, Index: 1, ParameterName: "Na", Value: "118"}}
	return w
}

func (w *world) clone() *world {
	c := *w
	c.records, c.values = slices.Clone(w.records), slices.Clone(w.values)
	c.facts.Results = slices.Clone(w.facts.Results)
	c.facts.Ledger = rerun.Ledger{Requests: slices.Clone(w.facts.Ledger.Requests),
		Repetitions: slices.Clone(w.facts.Ledger.Repetitions), Messages: slices.Clone(w.facts.Ledger.Messages),
		Received: clone(w.facts.Ledger.Received)}
	c.facts.Archived, c.received = clone(w.facts.Archived), clone(w.received)
	return &c
}

func clone(m map[string]bool) map[string]bool {
	c := map[string]bool{}
	for key := range m {
		c[key] = true
	}
	return c
}

func (w *world) id() string {
	w.ids++
	return fmt.Sprintf("12-%d", w.ids)
}

// seen returns the facts as a decision gets them.
func (w *world) seen() rerun.Facts {
	if w.breaks.facts != nil {
		return w.breaks.facts(w.facts)
	}
	return w.facts
}

// apply applies a change as the database does.
func (w *world) apply(c rerun.Change) {
	if w.breaks.change != nil {
		c = w.breaks.change(c)
	}
	if c.Flag != nil {
		w.facts.Report.Flag = *c.Flag
	}
	w.facts.Results = slices.DeleteFunc(w.facts.Results, func(r rerun.Result) bool {
		return slices.ContainsFunc(c.Gone, func(g rerun.Result) bool { return g.ID == r.ID })
	})
	for _, r := range c.Confirmed {
		w.ids++
		r.ID = int64(w.ids)
		w.facts.Results = append(w.facts.Results, r)
	}
	if c.Entry != nil {
		meta, _ := json.Marshal(c.Entry.Meta)
		w.facts.Ledger.Note(c.Entry.Category, meta, true)
		for _, id := range rerun.ArchivedIn(meta) {
			w.facts.Archived[id] = true
		}
	}
	if c.Announce != nil {
		w.facts.Unconfirmed = c.Announce.Unconfirmed
		if c.Announce.AsOf.After(w.known.AsOf) { // as the callout service does
			w.known = *c.Announce
		}
	}
}

// write applies writes as the document store does. It returns false if a unique index rejects a document.
func (w *world) write(d rerun.Writes) bool {
	w.values = slices.DeleteFunc(w.values, func(v rerun.Value) bool { return slices.Contains(d.DeleteValues, v.ID) })
	w.records = slices.DeleteFunc(w.records, func(r rerun.Record) bool { return slices.Contains(d.DeleteRecords, r.ID) })
	for i, r := range w.records {
		if slices.Contains(d.Retire, r.ID) || slices.Contains(d.Close, r.ID) {
			w.records[i].Active = false
		}
		if slices.Contains(d.Reopen, r.ID) {
			w.records[i].Active = true
		}
	}
	if d.Record != nil {
		for _, r := range w.records {
			if r.Number == d.Record.Number || r.Active && d.Record.Active {
				return false
			}
		}
		w.records = append(w.records, *d.Record)
	}
	for _, v := range d.Insert {
		for _, o := range w.values {
			if o.Number == v.Number && o.Index == v.Index {
				return false
			}
		}
		w.values = append(w.values, v)
	}
	for _, v := range d.Replace {
		w.values[slices.IndexFunc(w.values, func(o rerun.Value) bool { return o.ID == v.ID })] = v
	}
	return true
}

// event is one possible event. With dies, its process crashes after the documents were written.
type event struct {
	name string
	do   func(w *world, dies bool) error
}

func say(number int, device, value, name string) event {
	return event{fmt.Sprintf("/new %d %s %s=%s", number, device, name, value), func(w *world, dies bool) error {
		return w.say(receive.Command{ReportID: 7001, Number: number, SampleID: "S", DeviceID: device, Actor: authn.Platform,
			Readings: []receive.Reading{{Index: 1, Value: value, Name: name}}}, dies)
	}}
}

func (w *world) say(c receive.Command, dies bool) error {
	before, sent := w.stored(), fmt.Sprint(c.DeviceID, c.Readings)
	d, err := receive.Decide(receive.Facts{Facts: w.seen(), Records: w.records, Values: w.values}, c, w.id(), w.now)
	if err != nil {
		return nil //nolint:nilerr // the message was rejected
	}
	for i := range d.Writes.Insert {
		d.Writes.Insert[i].ID = w.id()
	}
	if !w.write(d.Writes) {
		return fmt.Errorf("a unique index refuses %+v", d.Writes)
	}
	if dies {
		return nil
	}
	w.apply(d.Change)
	if c.Number == receive.OnItsOwn && w.received[sent] && w.stored() != before {
		return fmt.Errorf("a repeated message changed %s to %s", before, w.stored())
	}
	if c.Number == receive.OnItsOwn {
		w.received[sent] = true
	}
	return nil
}

func ask(w *world, dies bool) error {
	d, err := request.Decide(request.Facts{Facts: w.seen(), Records: w.records, Values: w.values},
		request.Command{ReportID: 7001, Type: rerun.Manual, Requested: []int{1}}, w.id(), w.now)
	if err != nil {
		return nil //nolint:nilerr // the request was rejected
	}
	if !w.write(d.Writes) {
		return fmt.Errorf("a unique index refuses %+v", d.Writes)
	}
	if !dies {
		w.apply(d.Change)
	}
	return nil
}

func confirm(name string) event {
	return event{"/confirm " + name, func(w *world, dies bool) error {
		other := w.result("K")
		if name == "K" {
			other = w.result("Na")
		}
		d, err := closing.Decide(closing.Facts{Facts: w.seen(), Records: w.records, Values: w.values},
			closing.Confirmation{ReportID: 7001, Rows: []closing.Row{{Result: rerun.Result{Index: 1, Value: "5", ParameterName: name}}}}, w.now)
		if err != nil {
			return nil //nolint:nilerr // the confirm was rejected
		}
		w.apply(d.Change)
		if !dies { // a crash prevents the deletion of the documents
			w.write(d.Archived)
		}
		if after := w.result("K") + w.result("Na"); !strings.Contains(after, other) || !strings.Contains(w.result(name), "=5") {
			return fmt.Errorf("a confirm of %s left %s", name, after)
		}
		return nil
	}}
}

// result returns the text of the report's rows for a parameter.
func (w *world) result(name string) (text string) {
	for _, r := range w.facts.Results {
		if r.ParameterName == name {
			text += fmt.Sprintf("%d/%d=%s ", r.ProfileTestID, r.Index, r.Value)
		}
	}
	return text
}

func abort(w *world, dies bool) error {
	d, err := closing.DecideAbort(closing.Facts{Facts: w.seen(), Records: w.records, Values: w.values}, authn.Platform, w.now)
	if err != nil {
		return nil //nolint:nilerr // the abort was rejected
	}
	w.apply(d.Change)
	if !dies {
		w.write(d.Archived)
	}
	return nil
}

// sweepAll runs the sweeper until nothing changes.
func sweepAll(w *world, _ bool) error {
	for again := true; again; {
		d := sweep.Decide(sweep.Facts{Facts: w.seen(), Records: w.records, Values: w.values}, w.now.Add(time.Nanosecond), w.now)
		if !w.write(d.Writes) {
			return fmt.Errorf("a unique index refuses %+v", d.Writes)
		}
		w.apply(d.Change)
		again = d.Again
	}
	return nil
}

var events = []event{
	{"/request", ask}, {"/abort", abort}, {"sweep", sweepAll}, confirm("K"), confirm("Na"),
	say(1, "xn", "9", "K"), say(1, "xn", "8", "K"), say(-1, "xn", "9", "K"), say(-1, "yn", "9", "K"), say(-1, "xn", "4", "Na"),
}

// stored describes everything that a caller can see.
func (w *world) stored() string {
	text := fmt.Sprint(w.facts.Report.Flag, " ")
	for _, v := range w.values {
		text += fmt.Sprintf("%d:%s=%s/%s(%d) ", v.Number, v.ParameterName, v.Value, v.DeviceID, len(v.History))
	}
	return text + w.result("K") + w.result("Na")
}

// state identifies a world for the search. It ignores times and ids.
func (w *world) state() string {
	text := w.stored()
	for _, r := range w.records {
		text += fmt.Sprintf("|%s %d %v %v %v", r.Type, r.Number, r.Active, w.facts.Ledger.Committed(r.ID), w.facts.Archived[r.ID])
	}
	for _, v := range w.values {
		text += fmt.Sprint("|", w.facts.Archived[v.ID])
	}
	return fmt.Sprint(text, w.died, len(w.known.Values), w.received, len(w.facts.Ledger.Messages), len(w.facts.Ledger.Received))
}

// settled returns the rule that a world breaks after a sweep.
func (w *world) settled() error {
	_ = sweepAll(w, false)
	open, waiting := w.facts.Report.Flag.Open(), 0
	for _, r := range w.records {
		if r.Active && len(r.Pending(w.values)) > 0 {
			waiting++
		}
	}
	switch {
	case !open && len(w.records)+len(w.values) > 0:
		return fmt.Errorf("a closed rerun has documents: %s", w.stored())
	case w.facts.Report.Flag == rerun.Requested && waiting != 1, waiting > 1:
		return fmt.Errorf("flag %d and %d requests that wait", w.facts.Report.Flag, waiting)
	}
	w.died = false
	return w.announced()
}

// announced returns an error if the callout service was not told exactly the values of the open rerun. After a crash,
// this may take until the next sweep.
func (w *world) announced() error {
	values := w.values
	if !w.facts.Report.Flag.Open() {
		values = nil
	}
	switch {
	case w.died:
		return nil
	case len(w.known.Values) != len(values):
		return fmt.Errorf("the callout service knows %d values of %d", len(w.known.Values), len(values))
	}
	for i, v := range w.known.Values {
		if !slices.ContainsFunc(values, func(o rerun.Value) bool { return o.Number == v.Number && o.Index == v.Index && o.Same(v) }) {
			return fmt.Errorf("the callout service knows value %d %q, which is not stored", i, v.Value)
		}
	}
	return nil
}

// explore runs all histories up to a depth. It returns the first one that breaks a rule.
func explore(depth int, m mutant) (states int, story []string, err error) {
	type node struct {
		w     *world
		story []string
	}
	level, seen := []node{{newWorld(m), nil}}, map[string]bool{}
	for range depth {
		var next []node
		for _, n := range level {
			for _, e := range events {
				for _, dies := range []bool{false, true} {
					w := n.w.clone()
					w.now = w.now.Add(2 * time.Minute)
					story := append(slices.Clone(n.story), fmt.Sprintf("%s, dies %v", e.name, dies))
					w.died = (w.died || dies) && e.name != "sweep"
					if err := errors.Join(e.do(w, dies), w.announced()); err != nil {
						return len(seen), story, err
					}
					if key := w.state(); !seen[key] {
						seen[key] = true
						if err := w.clone().settled(); err != nil {
							return len(seen), story, err
						}
						next = append(next, node{w, story})
					}
				}
			}
		}
		level = next
	}
	return len(seen), nil, nil
}

func TestAllShortHistoriesKeepTheRules(t *testing.T) {
	t.Parallel()
	depth := 4
	if engine.Setting("LAB_LONG_TESTS") != "" {
		depth = 6
	}
	states, story, err := explore(depth, mutant{})
	if err != nil {
		t.Fatalf("%v, after:\n%s", err, strings.Join(story, "\n"))
	}
	if states < 500 {
		t.Errorf("%d states, want at least 500: the events do nothing", states)
	}
	t.Logf("%d states", states)
}

func TestEveryMutantIsCaught(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]mutant{
		"no announcement after a confirm": {change: func(c rerun.Change) rerun.Change {
			if len(c.Confirmed) > 0 {
				c.Announce = nil
			}
			return c
		}},
		"an announcement without its last value": {change: func(c rerun.Change) rerun.Change {
			if c.Announce != nil && len(c.Announce.Values) > 1 {
				a := *c.Announce
				a.Values = a.Values[1:]
				c.Announce = &a
			}
			return c
		}},
		"as_of that does not grow": {change: func(c rerun.Change) rerun.Change {
			if c.Announce != nil {
				a := *c.Announce
				a.AsOf = start
				c.Announce = &a
			}
			return c
		}},
		"repetitions forgotten": {facts: func(f rerun.Facts) rerun.Facts {
			f.Ledger.Received = nil
			return f
		}},
		"only the last repetition remembered": {facts: func(f rerun.Facts) rerun.Facts {
			all := f.Ledger.Repetitions
			f.Ledger.Received = map[string]bool{}
			if len(all) > 0 {
				f.Ledger.Received[all[len(all)-1].Fingerprint] = true
			}
			return f
		}},
		"tests taken for one": {facts: func(f rerun.Facts) rerun.Facts {
			f.Tests.Parameters = []rerun.Parameter{{TestID: 60, Index: 1, Name: "K"}}
			for i := range f.Results {
				f.Results = slices.Clone(f.Results)
				f.Results[i].ProfileTestID = 0
			}
			return f
		}},
		"a confirm that keeps the flag": {change: func(c rerun.Change) rerun.Change {
			if len(c.Confirmed) > 0 {
				c.Flag = nil
			}
			return c
		}},
		"a confirm that inserts beside the old row": {change: func(c rerun.Change) rerun.Change {
			for i := range c.Confirmed {
				c.Confirmed = slices.Clone(c.Confirmed)
				c.Confirmed[i].ProfileTestID, c.Confirmed[i].ParameterName = 0, ""
			}
			return c
		}},
		"a message without its log entry": {change: func(c rerun.Change) rerun.Change {
			if c.Announce != nil && len(c.Announce.Values) > 0 {
				c.Entry = nil
			}
			return c
		}},
		"a completion that is not noticed": {change: func(c rerun.Change) rerun.Change {
			if c.Flag != nil && *c.Flag == rerun.Fulfilled {
				c.Flag = nil
			}
			return c
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if states, _, err := explore(4, m); err == nil {
				t.Errorf("%d states and no broken rule, want one", states)
			}
		})
	}
}
