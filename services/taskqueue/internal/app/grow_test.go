package app_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
)

// answers are the job ids that callers got for their keys.
type answers struct {
	mu  sync.Mutex // guards ids
	ids map[string]map[string]bool
}

func (a *answers) note(key, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ids[key] == nil {
		a.ids[key] = map[string]bool{}
	}
	a.ids[key][id] = true
}

func (a *answers) size() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.ids)
}

// send enqueues a webhook under each key until a process accepts it, and once more through another process.
func (a *answers) send(t *testing.T, r *tally, keys int, next *atomic.Int64, processes ...*process) {
	t.Helper()
	for {
		i := int(next.Add(1)) - 1
		if i >= keys {
			return
		}
		key := fmt.Sprint("key-", i)
		in := &taskqueuev1.EnqueueRequest{IdempotencyKey: &key, Tasks: []*taskqueuev1.Task{{Task: 4, TaskType: 2, Data: webhookData(r.URL + "/hook")}}}
		for n := range processes {
			p := processes[(i+n)%len(processes)]
			client, ctx := p.client()
			await.Nil(t, "an accepted task", func() error {
				answer, err := client.Enqueue(ctx, in)
				if err == nil {
					a.note(key, answer.GetJobIds()[0])
				}
				return err
			})
		}
	}
}

func TestAQueueGrowsFromFourShardsToSixteenUnderLoadAndKills(t *testing.T) {
	t.Parallel()
	const keys = 1200
	r := newTally(t, 5*time.Millisecond)
	few := newProcess(t, "TASKQUEUE_OUTBOX_ENABLED=false", "TASKQUEUE_HOST_CONCURRENCY=200", "TASKQUEUE_SHARDS=4")
	few.ready()
	got := &answers{ids: map[string]map[string]bool{}}
	var next atomic.Int64
	got.send(t, r, keys/4, &next, few)
	next.Store(keys / 4)
	many := newProcessOn(t, few.redis, "TASKQUEUE_OUTBOX_ENABLED=false", "TASKQUEUE_HOST_CONCURRENCY=200", "TASKQUEUE_SHARDS=16")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { got.send(t, r, keys, &next, few, many) })
	}
	for _, p := range []*process{many, few} {
		await.True(t, "more accepted tasks", func() bool { return got.size() > keys/2 })
		p.kill()
		p.start()
	}
	group.Wait()
	next.Store(0)
	got.send(t, r, keys/4, &next, many) // those of before the growth again
	await.True(t, "all deliveries", func() bool { sent, _ := r.distinct(); return sent >= keys })
	few.awaitIdle()
	shards := map[string]bool{}
	for key, ids := range got.ids {
		if len(ids) != 1 {
			t.Errorf("%s is %d jobs", key, len(ids))
		}
		for id := range ids {
			shards[id[:2]] = true
			if r.sends[id] == 0 {
				t.Errorf("%s was accepted and never sent", id)
			}
		}
	}
	if sent, _ := r.distinct(); sent != keys || len(shards) != 16 {
		t.Errorf("%d jobs of %d keys, on %d shards", sent, keys, len(shards))
	}
	few.fsck()
}
