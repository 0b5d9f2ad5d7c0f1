package rebuild_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/internal/rebuild"
	"github.com/labplatform/labplatform/services/cdc/internal/reconcile"
	"github.com/labplatform/labplatform/services/cdc/internal/store/enginetest"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
)

func proof(p *enginetest.Platform, target string) *reconcile.Reconciler {
	return reconcile.New(reconcile.Deps{Rows: reconcile.IndexOnly(p.Rows), Scope: mysql.Laboratory, Documents: p.Index, Users: p.Users,
		Writer: p.Writer, Target: target, Config: reconcile.Config{Settle: time.Second, Looks: 5}})
}

func deps(p *enginetest.Platform, out io.Writer) rebuild.Deps {
	return rebuild.Deps{Index: p.Index, Rows: p.Rows, Proof: func(target string) rebuild.Proof { return proof(p, target) }, Writer: p.Writer,
		Workers: 2, Clock: clock.System{}, Out: out}
}

// agrees fails the test unless the live index equals user_meta.
func agrees(t *testing.T, p *enginetest.Platform) {
	t.Helper()
	var out bytes.Buffer
	total, err := proof(p, p.Index.Live()).Report(t.Context(), reconcile.Options{Wait: 5 * time.Second}, &out, clock.System{})
	if err != nil || total.Differences+total.Unsettled != 0 {
		t.Errorf("%+v, error %v\n%s", total, err, &out)
	}
}

func live(t *testing.T, p *enginetest.Platform) string {
	t.Helper()
	name, _, _, err := p.Index.Names(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(name, p.Index.Alias+"_")
}

func small(t testing.TB) *enginetest.Platform {
	t.Helper()
	p := enginetest.New(t)
	p.Patients(7, 1, 30)
	p.Patients(8, 31, 60)
	p.Patients(1, 61, 90)
	p.Exec("UPDATE userDetails SET labId_id = 1 WHERE id IN (5, 35)")
	p.Exec("UPDATE userDetails SET isDeleted = 1 WHERE id IN (6, 66)")
	p.Recompute(5, 35, 6, 66)
	p.Pump(p.Index.Live())
	if err := p.Index.Refresh(t.Context(), p.Index.Live()); err != nil {
		t.Fatal(err)
	}
	return p
}

// stream changes patients at random. Two sinks, like those of two processes, write the changes to the index.
func stream(ctx context.Context, p *enginetest.Platform, seed uint64) (changes int, err error) {
	random := rand.New(rand.NewPCG(seed, seed))
	sinks := []*indexsync.Sink{syncer(p), syncer(p)}
	for ctx.Err() == nil {
		id := 1 + random.Int64N(90)
		if err := changeAll(p, sinks[random.IntN(2)], random, []int64{id}); err != nil {
			return changes, err
		}
		changes++
	}
	return changes, nil
}

// changeAll changes patients, computes their rows and writes them to the index, as their events would.
func changeAll(p *enginetest.Platform, sink *indexsync.Sink, random *rand.Rand, ids []int64) error {
	query, arg := "fullName = CONCAT(?, id)", any(fmt.Sprint("Name ", random.Uint32(), " "))
	switch random.IntN(4) {
	case 0:
		query, arg = "labId_id = ?", []int{7, 8, 1}[random.IntN(3)]
	case 1:
		query, arg = "isDeleted = ?", random.IntN(2)
	}
	ctx := context.Background()
	args, targets := []any{arg}, make([]materialize.Target, len(ids))
	for i, id := range ids {
		args, targets[i].UserID = append(args, id), id
	}
	if _, err := p.DB.ExecContext(ctx, "UPDATE userDetails SET "+query+" WHERE id IN (?"+strings.Repeat(",?", len(ids)-1)+")", args...); err != nil {
		return err
	}
	if _, err := p.Users.Recompute(ctx, targets); err != nil {
		return err
	}
	rows, err := p.Rows.RowsByID(ctx, ids)
	if err != nil {
		return err
	}
	var events []change.Record
	for i := range rows {
		events = append(events, event(change.Update, rows[i]))
	}
	results, err := sink.Apply(ctx, events)
	if err != nil {
		return err
	}
	for i := range results {
		if results[i].Kind != outcome.Applied && results[i].Kind != outcome.Superseded { // another writer was faster
			return fmt.Errorf("patient %d: %+v", rows[i].UserID, results[i])
		}
	}
	return nil
}

func TestAnIndexIsRebuiltUnderChangesAndSearchesNeverFindLess(t *testing.T) {
	t.Parallel()
	p := small(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	var streamed atomic.Int64
	for seed := range uint64(2) {
		all.Go(func() {
			n, err := stream(ctx, p, seed+1)
			if err != nil {
				t.Error(err)
			}
			streamed.Add(int64(n))
		})
	}
	least := int64(1 << 60)
	all.Go(func() { // patients are never removed, so the number of documents and stubs never decreases
		for ctx.Err() == nil {
			if n, err := p.Index.Count(context.Background(), p.Index.Live()); err != nil {
				t.Error(err)
			} else {
				least = min(least, n)
			}
		}
	})
	var out bytes.Buffer
	d := deps(p, &out)
	d.Wait = rebuild.DefaultWait
	err := rebuild.New(d).Run(t.Context())
	stop()
	all.Wait()
	if err != nil {
		t.Fatalf("got %v\n%s", err, &out)
	}
	if live(t, p) != "v2" || least < 90 || streamed.Load() == 0 {
		t.Errorf("live is %s, a search saw %d documents, %d changes", live(t, p), least, streamed.Load())
	}
	t.Logf("%d changes meanwhile\n%s", streamed.Load(), &out)
	agrees(t, p)
}

// crashing simulates a crash of the process at its nth step.
type crashing struct {
	left   atomic.Int64
	cancel context.CancelCauseFunc
}

var errKilled = errors.New("killed")

func (m *crashing) step() error {
	if m.left.Add(-1) == 0 {
		m.cancel(errKilled)
	}
	if m.left.Load() <= 0 {
		return errKilled
	}
	return nil
}

// mortalIndex crashes before or after each change of an alias; mortalWriter and mortalRows crash at each page.
type mortalIndex struct {
	rebuild.Index
	m *crashing
}

func (i mortalIndex) CreateNext(ctx context.Context) (name string, made bool, err error) {
	err = i.around(func() error { name, made, err = i.Index.CreateNext(ctx); return err })
	return name, made, err
}
func (i mortalIndex) TakeOlder(ctx context.Context) (name string, err error) {
	err = i.around(func() error { name, err = i.Index.TakeOlder(ctx); return err })
	return name, err
}
func (i mortalIndex) Swap(ctx context.Context) error {
	return i.around(func() error { return i.Index.Swap(ctx) })
}

func (i mortalIndex) around(do func() error) error {
	if err := i.m.step(); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return i.m.step()
}

type mortalWriter struct {
	rebuild.Writer
	m *crashing
}

func (w mortalWriter) Write(ctx context.Context, target string, ops []document.Op) ([]indexsync.Fate, error) {
	if err := w.m.step(); err != nil {
		return nil, err
	}
	fates, err := w.Writer.Write(ctx, target, ops[:len(ops)/2]) // half of the page is written
	if err != nil {
		return nil, err
	}
	if err := w.m.step(); err != nil {
		return nil, err
	}
	more, err := w.Writer.Write(ctx, target, ops[len(ops)/2:])
	return append(fates, more...), err
}

type rows = rebuild.Rows

type mortalRows struct {
	rows
	m *crashing
}

func (r mortalRows) Rows(ctx context.Context, s authn.LabScope, after int64, limit int) ([]projection.Row, error) {
	if err := r.m.step(); err != nil {
		return nil, err
	}
	return r.rows.Rows(ctx, s, after, limit)
}

// mortally runs f in a process that crashes at step n, and reports whether it crashed.
func mortally(t *testing.T, p *enginetest.Platform, n int64, f func(context.Context, *rebuild.Rebuilder) error) bool {
	t.Helper()
	m := &crashing{}
	m.left.Store(n)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	m.cancel = cancel
	var out bytes.Buffer
	d := deps(p, &out)
	d.Index, d.Writer, d.Rows = mortalIndex{d.Index, m}, mortalWriter{d.Writer, m}, mortalRows{d.Rows, m}
	err := f(ctx, rebuild.New(d))
	if err != nil && !errors.Is(err, errKilled) && ctx.Err() == nil {
		t.Fatalf("step %d: %v\n%s", n, err, &out)
	}
	return err != nil
}

func TestARebuildThatIsKilledAnywhereGoesOn(t *testing.T) {
	t.Parallel()
	p := small(t)
	run := func(ctx context.Context, r *rebuild.Rebuilder) error { return r.Run(ctx) }
	deaths := int64(0)
	for n := int64(1); mortally(t, p, n, run); n += 2 { // each run continues where the previous one crashed
		deaths++
		if count, err := p.Index.Count(t.Context(), p.Index.Live()); err != nil || count < 90 {
			t.Fatalf("after %d steps a search sees %d documents, error %v", n, count, err)
		}
	}
	if deaths < 3 {
		t.Errorf("only %d deaths", deaths)
	}
	agrees(t, p)
	// Rebuild from scratch each time, with crashes at the other steps.
	for n := int64(2); ; n += 2 {
		died := mortally(t, p, n, run)
		agrees(t, p)
		if !died {
			break
		}
		if err := rebuild.New(deps(p, io.Discard)).Discard(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAWrongIndexIsRolledBackOnceItIsCaughtUp checks that the kept index, which is outdated, is brought up to date
// before it is searched. The rollback crashes at each step, and each call must continue with the same index.
func TestAWrongIndexIsRolledBackOnceItIsCaughtUp(t *testing.T) {
	t.Parallel()
	p := small(t)
	for range 2 { // afterwards both v1 and v2 exist
		if err := rebuild.New(deps(p, io.Discard)).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p.Exec("UPDATE userDetails SET fullName = 'Changed since', labId_id = 1 WHERE id < 20")
	for id := range int64(19) {
		p.Recompute(id + 1)
	}
	p.Pump(p.Index.Live())
	rollback := func(ctx context.Context, r *rebuild.Rebuilder) error { return r.Rollback(ctx) }
	deaths := 0
	for n := int64(1); mortally(t, p, n, rollback); n++ {
		if live(t, p) == "v2" { // crashed after the swap
			break
		}
		deaths++
		agrees(t, p) // searches never see the outdated state
	}
	if deaths < 3 || live(t, p) != "v2" {
		t.Fatalf("%d deaths, live is %s", deaths, live(t, p))
	}
	agrees(t, p)
	if err := rebuild.New(deps(p, io.Discard)).Rollback(t.Context()); err != nil || live(t, p) != "v1" {
		t.Fatalf("live is %s, error %v", live(t, p), err)
	}
	agrees(t, p)
	if err := rebuild.New(deps(p, io.Discard)).Rollback(t.Context()); err == nil || live(t, p) != "v1" {
		t.Errorf("no index is older: live is %s, error %v", live(t, p), err)
	}
	var out bytes.Buffer
	for range 2 {
		if err := rebuild.New(deps(p, &out)).Discard(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if want := "deleted " + p.Index.Alias + "_v3\ndeleted " + p.Index.Alias + "_v2\nthere is nothing to delete"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("%s", &out)
	}
}

// TestAGivenUpIndexIsTakenUpAgain checks that a rebuild continues with an index that the pipeline gave up, so that an
// hour of filling is not lost.
func TestAGivenUpIndexIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	p := small(t)
	name, _, err := p.Index.CreateNext(t.Context())
	if err == nil {
		err = p.Index.GiveUpNext(t.Context(), name)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := rebuild.New(deps(p, &out)).Run(t.Context()); err != nil || live(t, p) != "v2" || !strings.HasPrefix(out.String(), "going on with "+name) {
		t.Fatalf("live is %s, error %v: %s", live(t, p), err, &out)
	}
	agrees(t, p)
}

func TestNoRollbackDuringARebuild(t *testing.T) {
	t.Parallel()
	p := small(t)
	if _, _, err := p.Index.CreateNext(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := rebuild.New(deps(p, io.Discard)).Rollback(t.Context())
	if fault := outcome.FaultOf(err); err == nil || !fault.Operator || fault.Advice == "" {
		t.Errorf("error %v", err)
	}
	if err := rebuild.New(deps(p, io.Discard)).Discard(t.Context()); err != nil || live(t, p) != "v1" {
		t.Errorf("live is %s, error %v", live(t, p), err)
	}
}

func TestAPatientWhomTheIndexRefusesDoesNotStopARebuild(t *testing.T) {
	t.Parallel()
	p := small(t)
	p.Patients(8, 91, 91) // patients missing in the live index too
	p.Exec("UPDATE user_meta SET sample_ids = JSON_ARRAY(REPEAT('S', 40000)), rev = rev + 1 WHERE user_id = 91")
	var out bytes.Buffer
	if err := rebuild.New(deps(p, &out)).Run(t.Context()); err != nil {
		t.Fatalf("got %v\n%s", err, &out)
	}
	if !strings.Contains(out.String(), "3 laboratories, 91 patients, 0 differences, 1 patients whom the index refuses") {
		t.Errorf("%s", &out)
	}
}

func TestTheOnlyIndexIsNotDiscardedForWantOfItsAlias(t *testing.T) {
	t.Parallel()
	p := small(t)
	p.Index.Send(http.MethodDelete, "/"+p.Index.Alias+"_v1/_alias/"+p.Index.Alias, nil, nil)
	err := rebuild.New(deps(p, io.Discard)).Discard(t.Context())
	if fault := outcome.FaultOf(err); err == nil || !fault.Operator || fault.Advice == "" {
		t.Errorf("error %v", err)
	}
	if _, _, kept, err := p.Index.Names(t.Context()); err != nil || len(kept) != 1 {
		t.Errorf("there are %v, error %v", kept, err)
	}
}

func TestALostIndexIsMadeAgain(t *testing.T) {
	t.Parallel()
	p := small(t)
	if err := p.Index.Drop(t.Context(), p.Index.Alias+"_v1"); err != nil {
		t.Fatal(err)
	}
	if err := rebuild.New(deps(p, io.Discard)).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	agrees(t, p)
}

func BenchmarkRebuild(b *testing.B) {
	p := enginetest.New(b)
	const patients = 20_000
	p.Patients(7, 1, patients/2)
	p.Patients(1, patients/2+1, patients)
	for b.Loop() {
		if err := rebuild.New(deps(p, io.Discard)).Run(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(patients*float64(b.N)/b.Elapsed().Seconds(), "patients/s")
}

func TestANewSchemaPausesTheSyncerUntilItsIndexIsMade(t *testing.T) {
	t.Parallel()
	p := small(t)
	p.Index.Send("PUT", "/"+p.Index.Alias+"_v1/_mapping", `{"_meta":{"version_domain":"user_meta.rev","schema":0}}`, nil) // an old index
	sink := syncer(p)
	p.Exec("UPDATE userDetails SET fullName = 'Changed while nothing is written' WHERE id = 9")
	p.Recompute(9)
	rows, err := p.Rows.RowsByID(t.Context(), []int64{9})
	if err != nil {
		t.Fatal(err)
	}
	events := []change.Record{event(change.Update, rows[0])}
	_, err = sink.Apply(t.Context(), events)
	if fault := outcome.FaultOf(err); err == nil || !fault.Operator || !strings.Contains(fault.Advice, "cdc rebuild") {
		t.Fatalf("error %v", err)
	}
	if err := rebuild.New(deps(p, io.Discard)).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if results, err := sink.Apply(t.Context(), events); err != nil || results[0].Kind != outcome.Applied {
		t.Errorf("results %v, error %v", results, err)
	}
	agrees(t, p)
}
