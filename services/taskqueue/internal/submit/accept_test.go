package submit_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/submit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

type anywhere struct{}

func (anywhere) CheckPublic(string) error { return nil }
func (anywhere) IsInternal(*url.URL) bool { return false }
func (anywhere) Enqueued(job.Lane)        {}
func (anywhere) Refused(string)           {}
func serves(job.Channel, int) bool        { return true }
func moment(d time.Duration) time.Time    { return clock.System{}.Now().Add(d) }
func generator() *job.Generator           { return job.NewGenerator(clock.System{}) }

func accepting(t *testing.T) (*submit.Acceptor, *engine.Redis) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: redistest.Start(t, "--appendfsync", "everysec").Addr, MaxRetries: -1, PoolSize: 32})
	t.Cleanup(func() { _ = client.Close() })
	q := engine.New(engine.Config{Client: client, Bells: client, Settings: engine.DefaultSettings()})
	checks := submit.Checks{Targets: anywhere{}, Serves: serves, Clock: clock.System{}}
	return &submit.Acceptor{Queue: q, Checks: checks, IDs: generator(), Observer: anywhere{}}, q
}

// TestEveryIDThatAJoinReturnsIsDeliveredExactlyOnce lets joins race with the moment at which the window's job is due.
// Every id returned to a caller must be delivered exactly once.
func TestEveryIDThatAJoinReturnsIsDeliveredExactlyOnce(t *testing.T) {
	t.Parallel()
	s, q := accepting(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var mu sync.Mutex
	returned, delivered := map[job.ID]bool{}, map[job.ID]int{}
	var joins, worker sync.WaitGroup
	stop := make(chan struct{})
	worker.Go(func() { drain(ctx, t, q, stop, func(id job.ID) { mu.Lock(); delivered[id]++; mu.Unlock() }) })
	for range 8 {
		joins.Go(func() {
			for n := range 125 {
				at := moment(0).Format(task.TimeLayout) // due immediately, so that every join races with the claim
				one := toWindow(at, "k")
				if n%5 == 0 {
					one.Override = true
				}
				ids, err := s.Accept(ctx, ofUser(""), []task.Submission{one}, false)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				returned[job.ID(ids[0])] = true
				mu.Unlock()
			}
		})
	}
	joins.Wait()
	close(stop)
	worker.Wait()
	if len(returned) < 2 {
		t.Errorf("%d windows were opened: nothing raced", len(returned))
	}
	for id := range returned {
		if delivered[id] != 1 {
			t.Errorf("%s was delivered %d times", id, delivered[id])
		}
	}
	if len(delivered) != len(returned) {
		t.Errorf("%d delivered, %d returned", len(delivered), len(returned))
	}
}

// toWindow returns a webhook task with a window; empty: without one.
func toWindow(at, window string) task.Submission {
	return task.Submission{Task: 4, Type: 2, Data: []byte(`{"url":"https://a.example/"}`), Due: at,
		WindowKey: window, LogTag: window}
}

func ofUser(key string) submit.Request {
	return submit.Request{Caller: task.Caller{LabID: 12, Name: "user:1"}, IdempotencyKey: key}
}

func isClosed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// drain claims and settles jobs until stop is closed and none is left.
func drain(ctx context.Context, t *testing.T, q *engine.Redis, stop <-chan struct{}, seen func(job.ID)) {
	shard := engine.ShardOf("window\x0012") // the shard of the laboratory's windows
	for turn := 1; ctx.Err() == nil; turn++ {
		last := isClosed(stop) // checked before the claim, so that jobs accepted meanwhile are claimed in another round
		c, err := q.Claim(ctx, engine.ClaimRequest{Shard: shard, Channel: job.Webhook, Max: 10, Turn: turn})
		if err != nil {
			t.Error(err)
			return
		}
		var list []engine.Settlement
		for _, j := range c.Jobs {
			seen(j.ID)
			list = append(list, engine.Settlement{ID: j.ID, Token: c.Token, Op: engine.OpSucceed, Payload: []byte("r")})
		}
		if len(list) > 0 {
			if _, err := q.Settle(ctx, shard, job.Webhook, list); err != nil {
				t.Error(err)
				return
			}
			continue
		}
		if last {
			return
		}
	}
}

func TestAWindowStaysOnItsShardAndABatchOverShardsKeepsItsOrder(t *testing.T) {
	t.Parallel()
	s, q := accepting(t)
	at := moment(time.Hour).Format(task.TimeLayout)
	var tasks []task.Submission
	for _, window := range []string{"a", "", "b", "c", "a"} {
		tasks = append(tasks, toWindow(at, window))
	}
	first, err := s.Accept(t.Context(), ofUser(""), tasks, false)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Accept(t.Context(), ofUser(""), tasks, false)
	if err != nil {
		t.Fatal(err)
	}
	for i, tag := range []string{"a", "", "b", "c", "a"} {
		snapshot, err := q.Info(t.Context(), []job.ID{job.ID(first[i])})
		if err != nil {
			t.Fatal(err)
		}
		if b, err := job.DecodeBody(snapshot[0].Body); err != nil || b.LogTag != tag {
			t.Errorf("id %d belongs to %q, %v", i, b.LogTag, err)
		}
		if joined := first[i] == again[i]; joined != (tag != "") {
			t.Errorf("task %d joined: %v", i, joined)
		}
	}
	if first[0] != first[4] {
		t.Error("one window in one request is one job")
	}
}

// TestAKeyNamesOneRequestWithWindowsOrWithout: a request with windows is accepted on the shard of its owner, another
// one on the shard of its key. If a caller uses the same key for both by mistake, it must be a conflict in either
// order.
func TestAKeyNamesOneRequestWithWindowsOrWithout(t *testing.T) {
	t.Parallel()
	s, _ := accepting(t)
	at := moment(time.Hour).Format(task.TimeLayout)
	send := func(key, window string) ([]string, error) {
		return s.Accept(t.Context(), ofUser(key), []task.Submission{toWindow(at, window)}, false)
	}
	for i := range 20 {
		key := fmt.Sprint("key-", i)
		windows := []string{"", fmt.Sprint("window-", i)}
		if i%2 == 1 {
			slices.Reverse(windows)
		}
		first, err := send(key, windows[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := send(key, windows[1]); apperr.KindOf(err) != apperr.Conflict {
			t.Errorf("%s again with window %q: %v, want a conflict", key, windows[1], err)
		}
		if again, err := send(key, windows[0]); err != nil || again[0] != first[0] {
			t.Errorf("%s repeated: %v, %v, want %s", key, again, err, first[0])
		}
	}
}
