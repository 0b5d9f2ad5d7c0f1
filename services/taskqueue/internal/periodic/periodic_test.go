package periodic_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine/model"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/periodic"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// manual is a clock that tests move.
type manual struct {
	mu sync.Mutex // guards at
	at time.Time
}

func (m *manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

func (m *manual) set(at string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at, _ = time.Parse(time.DateTime, at)
}

type anywhere struct{}

func (anywhere) CheckPublic(string) error { return nil }
func (anywhere) IsInternal(*url.URL) bool { return false }

type counter struct {
	mu     sync.Mutex // guards counts
	counts map[string]int
}

func (c *counter) Ticked(outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[outcome]++
}

// world is a queue in memory with a book and any number of tickers.
type world struct {
	t     *testing.T
	clock *manual
	queue *model.Model
	book  *periodic.Book
	seen  *counter
}

var rerun = task.Caller{LabID: 12, Name: "service:rerun", Internal: true}

func open(t *testing.T, at string) *world {
	t.Helper()
	w := &world{t: t, clock: &manual{}, seen: &counter{counts: map[string]int{}}}
	w.clock.set(at)
	w.queue = model.New(w.clock, engine.DefaultSettings())
	v := &task.Validator{Targets: anywhere{}, Serves: func(job.Channel) bool { return true }, Clock: w.clock}
	w.book = periodic.NewBook(periodic.Deps{Store: w.queue, Validator: v, Clock: w.clock})
	return w
}

func (w *world) ticker(q periodic.Queue) *periodic.Ticker {
	return periodic.NewTicker(periodic.TickerDeps{Queue: q, IDs: job.NewGenerator(w.clock, rand.Reader), Clock: w.clock, Observer: w.seen})
}

func (w *world) put(name, expression, missed string) time.Time {
	w.t.Helper()
	next, err := w.book.Put(w.t.Context(), rerun, periodic.Request{Name: name, Cron: expression, Missed: missed,
		Task: task.Submission{Task: 4, TaskType: 2, Data: []byte(`{"url":"https://a.example/` + name + `"}`)}})
	if err != nil {
		w.t.Fatal(err)
	}
	return next
}

// jobs is how many jobs wait.
func (w *world) jobs() (n int) {
	w.t.Helper()
	list, err := w.queue.Depths(w.t.Context(), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range list {
		n += int(d.Waiting)
	}
	return n
}

func (w *world) run(q periodic.Queue) {
	w.t.Helper()
	if err := w.ticker(q).RunOnce(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func TestEveryTickIsOneJobHoweverManyProcessesLook(t *testing.T) {
	t.Parallel()
	w := open(t, "2026-11-20 10:00:30")
	if next := w.put("sweep", "*/5 * * * *", ""); next.UTC().Format(time.TimeOnly) != "10:05:00" {
		t.Errorf("the first tick is at %v", next)
	}
	w.run(w.queue)
	if w.jobs() != 0 {
		t.Error("a job before the first tick")
	}
	for i, at := range []string{"2026-11-20 10:05:00", "2026-11-20 10:10:01", "2026-11-20 10:15:20"} {
		w.clock.set(at)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() { _ = w.ticker(w.queue).RunOnce(t.Context()) })
		}
		group.Wait()
		if w.jobs() != i+1 {
			t.Errorf("%d jobs at %s, want %d", w.jobs(), at, i+1)
		}
	}
	list, err := w.book.List(t.Context(), rerun)
	if err != nil || len(list) != 1 || list[0].LastJob == "" || time.UnixMilli(list[0].NextMs).UTC().Format(time.TimeOnly) != "10:20:00" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestMissedTicksAreLeftOutOrRunOnce(t *testing.T) {
	t.Parallel()
	for missed, want := range map[string]int{"skip": 0, "once": 1} {
		w := open(t, "2026-11-20 10:00:30")
		w.put("sweep", "*/5 * * * *", missed)
		w.clock.set("2026-11-22 11:03:00") // two days without a process
		w.run(w.queue)
		w.run(w.queue)
		if w.jobs() != want {
			t.Errorf("%s: %d jobs, want %d", missed, w.jobs(), want)
		}
		w.clock.set("2026-11-22 11:05:00")
		w.run(w.queue)
		if w.jobs() != want+1 {
			t.Errorf("%s: the tick after the missed ones did not run", missed)
		}
	}
}

func TestTheSameDefinitionAgainKeepsItsTimes(t *testing.T) {
	t.Parallel()
	w := open(t, "2026-11-20 10:00:30")
	first := w.put("sweep", "0 * * * *", "once")
	w.clock.set("2026-11-20 11:30:00") // the tick of 11:00 was missed, and the service starts again before the queue looks
	if again := w.put("sweep", "0 * * * *", "once"); again != first {
		t.Errorf("the next tick moved to %v", again)
	}
	if other := w.put("sweep", "15 * * * *", "once"); other.UTC().Format(time.TimeOnly) != "12:15:00" {
		t.Errorf("another expression begins at %v", other)
	}
}

// crashing dies before or after the n-th change of a definition; after it, the change is done and nobody knows.
type crashing struct {
	*model.Model
	left  int
	after bool
}

var errCrash = errors.New("crash")

func (c *crashing) Tick(ctx context.Context, t engine.Tick) (bool, error) {
	if c.left--; c.left != 0 {
		return c.Model.Tick(ctx, t)
	}
	if c.after {
		_, _ = c.Model.Tick(ctx, t)
	}
	return false, errCrash
}

func TestACrashAtAnyStepNeitherLosesNorRepeatsATick(t *testing.T) {
	t.Parallel()
	for step := 1; step <= 3; step++ {
		for _, after := range []bool{false, true} {
			w := open(t, "2026-11-20 10:00:30")
			for _, name := range []string{"a", "b", "c"} {
				w.put(name, "*/5 * * * *", "")
			}
			w.clock.set("2026-11-20 10:05:00")
			if err := w.ticker(&crashing{w.queue, step, after}).RunOnce(t.Context()); !errors.Is(err, errCrash) {
				t.Errorf("step %d: %v", step, err)
			}
			w.clock.set("2026-11-20 10:05:12") // another process takes over
			w.run(w.queue)
			if w.jobs() != 3 {
				t.Errorf("crash at step %d, after it %v: %d jobs of 3 ticks", step, after, w.jobs())
			}
		}
	}
}

func TestDefinitionsBelongToTheirOwnerAndLaboratory(t *testing.T) {
	t.Parallel()
	w := open(t, "2026-11-20 10:00:30")
	w.put("sweep", "@daily", "")
	for _, other := range []task.Caller{{LabID: 13, Name: "service:rerun"}, {LabID: 12, Name: "service:callout"}} {
		list, err := w.book.List(t.Context(), other)
		if err != nil || len(list) != 0 {
			t.Errorf("%v sees %d definitions, %v", other, len(list), err)
		}
		if gone, err := w.book.Delete(t.Context(), other, "sweep"); gone || err != nil {
			t.Errorf("%v deleted it, %v", other, err)
		}
	}
	if gone, err := w.book.Delete(t.Context(), rerun, "sweep"); !gone || err != nil {
		t.Errorf("%v, %v", gone, err)
	}
}

func TestALocalTimeFollowsItsZone(t *testing.T) {
	t.Parallel()
	w := open(t, "2026-11-20 10:00:30")
	if next := w.put("report", "CRON_TZ=Asia/Kolkata 0 6 * * *", ""); next.UTC().Format(time.DateTime) != "2026-11-21 00:30:00" {
		t.Errorf("six in the morning in Kolkata is %v", next.UTC())
	}
}
