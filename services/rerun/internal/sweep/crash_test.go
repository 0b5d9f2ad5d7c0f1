package sweep_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"github.com/labplatform/labplatform/services/rerun/internal/delivery"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mysql"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

type act func(t *testing.T, c storetest.Cases, report int64) error

func ask(indices ...int) act {
	return func(t *testing.T, c storetest.Cases, report int64) error {
		_, err := c.Ask(t, report, indices...)
		return err
	}
}

func say(number int, text string) act {
	return func(t *testing.T, c storetest.Cases, report int64) error {
		_, err := c.Say(t, storetest.Message(report, number, text))
		return err
	}
}

func confirm(t *testing.T, c storetest.Cases, report int64) error {
	_, err := c.Closing.Confirm(t.Context(), storetest.Scope(t, 12), closing.Confirmation{ReportID: report, Actor: storetest.Asha,
		Rows: []closing.Row{{Result: rerun.Result{Index: 1, Value: "13.5"}}, {Result: rerun.Result{Index: 3, Value: "4.2"}}}})
	return err
}

func abort(t *testing.T, c storetest.Cases, report int64) error {
	return c.Closing.Abort(t.Context(), storetest.Scope(t, 12), report, storetest.Asha)
}

// play is an operation on a report that earlier operations have prepared.
type play struct {
	prepare []act
	act     act
	before  string // state of the report if the operation did not happen: flag, received values, confirmed value
	after   string // state of the report if it happened
	again   bool   // the caller repeats it after the crash, as instruments do
}

var plays = map[string]play{
	"request": {act: ask(1, 3), before: "0 [] 13.1", after: "3 [] 13.1"},
	"request beside one that waits": {prepare: []act{ask(8), say(-1, "1=9")}, act: ask(1, 3),
		before: "4 [2:1=9] 13.1", after: "3 [2:1=9] 13.1"},
	"new, a part": {prepare: []act{ask(1, 3, 8)}, act: say(1, "1=13.5 3=4.2"), again: true,
		after: "3 [1:1=13.5 1:3=4.2] 13.1"},
	"new, the last part": {prepare: []act{ask(1, 3, 8), say(1, "8=5")}, act: say(1, "1=13.5 3=4.2"), again: true,
		after: "4 [1:1=13.5 1:8=5 1:3=4.2] 13.1"},
	"new, all at once": {prepare: []act{ask(1, 3)}, act: say(1, "1=13.5 3=4.2"), again: true,
		after: "4 [1:1=13.5 1:3=4.2] 13.1"},
	"new, a correction": {prepare: []act{ask(1, 3), say(1, "1=13.5 3=4.2")}, act: say(1, "1=14.0 3=4.2"), again: true,
		after: "4 [1:1=14.0 1:3=4.2] 13.1"},
	"new, on its own": {act: say(-1, "1=13.5 3=4.2"), again: true, after: "4 [1:1=13.5 1:3=4.2] 13.1"},
	"new, on its own at flag 3": {prepare: []act{ask(8)}, act: say(-1, "1=13.5 3=4.2"), again: true,
		after: "4 [2:1=13.5 2:3=4.2] 13.1"},
	"confirm": {prepare: []act{ask(1, 3), say(1, "1=13.5 3=4.2")}, act: confirm,
		before: "4 [1:1=13.5 1:3=4.2] 13.1", after: "0 [] 13.5"},
	"abort": {prepare: []act{ask(1, 3), say(1, "1=13.5 3=4.2")}, act: abort,
		before: "4 [1:1=13.5 1:3=4.2] 13.1", after: "0 [] 13.1"},
}

// stage is a fixture with a new report for each crash.
type stage struct {
	*storetest.Fixture

	t    *testing.T
	play play
	id   int64
}

func (s *stage) next() (dsn string) {
	s.t.Helper()
	s.id++
	s.AddReport(s.id)
	s.Set(s.id, "isSigned", 1)
	s.AddResult(s.id, rerun.Result{Index: 1, Value: "13.1"})
	for _, prepare := range s.play.prepare {
		if err := prepare(s.t, s.Cases, s.id); err != nil {
			s.t.Fatal(err)
		}
	}
	return s.DSN
}

// check runs the sweeper and compares the report with the expected state.
func (s *stage) check(crash string, happened bool) {
	s.t.Helper()
	s.Sweep()
	if s.play.again {
		for range 2 {
			if err := s.play.act(s.t, s.Cases, s.id); err != nil {
				s.t.Fatalf("the process %s; the operation again: %v", crash, err)
			}
		}
	}
	want := s.play.before
	if happened || s.play.again {
		want = s.play.after
	}
	state := s.State(s.id)
	got := fmt.Sprintf("%d %v %s", state.Flag, state.Received(), state.Present["0/1"])
	if err := consistent(state); got != want || err != nil {
		s.t.Errorf("the process %s: report %q, %v; want %q", crash, got, err, want)
	}
}

// alive is the document store of a process that may crash at its database.
type alive struct {
	storetest.Documents

	db *sql.DB
}

func (a alive) Write(ctx context.Context, scope authn.LabScope, w rerun.Writes) error {
	if err := a.db.PingContext(ctx); err != nil {
		return err
	}
	return a.Documents.Write(ctx, scope, w)
}

// TestADeathAtTheDatabaseIsRepaired aborts every operation before each of its statements. After the sweep, the report
// is as if the operation had happened completely or not at all. If an instrument repeats its message, its values are
// stored once.
func TestADeathAtTheDatabaseIsRepaired(t *testing.T) {
	t.Parallel()
	for name, p := range plays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &stage{storetest.New(t), t, p, 10_000}
			run := func(db *sql.DB) error {
				reports, err := mysql.New(db, s.Clock, delivery.Messages{})
				if err != nil {
					return err
				}
				return p.act(t, s.On(reports, alive{s.Documents, db}, s.AtOnce()), s.id)
			}
			crashes := crashdb.Each(t, s.next, run, func(c crashdb.Crash, _ error) { s.check(c.String(), c.AnswerLost) })
			if len(crashes) < 6 {
				t.Errorf("%d crashes, want one for each statement: %v", len(crashes), crashes)
			}
		})
	}
}

// process crashes before its nth write of a document. Later steps have no effect.
type process struct {
	storetest.Documents

	left int // number of writes until the crash
	dead bool
}

var errDead = errors.New("the process died")

// Write writes one document at a time. It returns errDead once no writes are left.
func (p *process) Write(ctx context.Context, scope authn.LabScope, w rerun.Writes) error {
	for _, step := range steps(w) {
		if p.left--; p.dead || p.left < 0 {
			p.dead = true
			return errDead
		}
		if err := p.Documents.Write(ctx, scope, step); err != nil {
			return err
		}
	}
	return nil
}

// Do runs a task after a commit, unless the process has crashed.
func (p *process) Do(ctx context.Context, _ int64, _ string, work func(context.Context) error) {
	if !p.dead {
		_ = work(ctx)
	}
}

func steps(w rerun.Writes) (all []rerun.Writes) {
	for _, id := range w.DeleteValues {
		all = append(all, rerun.Writes{DeleteValues: []string{id}})
	}
	for _, id := range w.DeleteRecords {
		all = append(all, rerun.Writes{DeleteRecords: []string{id}})
	}
	all = append(all, rerun.Writes{Retire: w.Retire, Close: w.Close, Reopen: w.Reopen})
	if w.Record != nil {
		all = append(all, rerun.Writes{Record: w.Record})
	}
	for _, v := range w.Insert {
		all = append(all, rerun.Writes{Insert: []rerun.Value{v}})
	}
	for _, v := range w.Replace {
		all = append(all, rerun.Writes{Replace: []rerun.Value{v}})
	}
	return all
}

// TestADeathBetweenDocumentsIsRepaired aborts every operation before each write to the document store, and before the
// tasks after a commit. The sweep must repair each crash.
func TestADeathBetweenDocumentsIsRepaired(t *testing.T) {
	t.Parallel()
	for name, p := range plays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &stage{storetest.New(t), t, p, 10_000}
			for n, dead := 0, true; dead; n++ {
				s.next()
				process := &process{Documents: s.Documents, left: n}
				err := p.act(t, s.On(s.Reports, process, process), s.id)
				if err != nil && !process.dead {
					t.Fatal(err)
				}
				s.check(fmt.Sprintf("died before write %d", n+1), err == nil)
				dead = process.dead
			}
		})
	}
}

// consistent checks rules that hold for every report on which no process works.
func consistent(s storetest.State) error {
	active := 0
	for _, r := range s.Records {
		if !r.Active {
			continue
		}
		active++
		if s.Flag == rerun.Requested && len(r.Pending(s.Values)) == 0 {
			return fmt.Errorf("flag %d, but the request has all its values: %+v", s.Flag, r)
		}
	}
	var announced []string
	for _, v := range s.Values {
		announced = append(announced, fmt.Sprintf("%d=%s", v.Index, v.Value))
	}
	sorted := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	switch {
	case s.Cached != s.Flag.Open():
		return fmt.Errorf("flag %d, cached %v", s.Flag, s.Cached)
	case s.Flag == rerun.Normal && len(s.Records)+len(s.Values) != 0:
		return fmt.Errorf("documents of a closed rerun: %+v %+v", s.Records, s.Values)
	case s.Flag == rerun.Requested && active != 1, active > 1:
		return fmt.Errorf("flag %d, %d requests hold the slot", s.Flag, active)
	case !cmp.Equal(announced, s.Announced, cmpopts.EquateEmpty(), sorted):
		return fmt.Errorf("the callout service knows %v of the values %v", s.Announced, announced)
	}
	return archived(s)
}

// archived checks closed reruns: each log entry contains both values, and each confirm requested an evaluation and
// cleared the signature.
func archived(s storetest.State) error {
	confirms := s.Log[activitylog.RerunValuesConfirmed]
	for _, meta := range append(confirms, s.Log[activitylog.RerunCancelled]...) {
		var snapshot rerun.Snapshot
		if err := json.Unmarshal(meta, &snapshot); err != nil || len(snapshot.RerunValues) != 2 || snapshot.RerunNumber != 1 {
			return fmt.Errorf("archive %s: %w", meta, err)
		}
	}
	if len(confirms) != s.Evaluations || s.Signed == (len(confirms) > 0) {
		return fmt.Errorf("%d confirms, %d evaluations, signed %v", len(confirms), s.Evaluations, s.Signed)
	}
	return nil
}
