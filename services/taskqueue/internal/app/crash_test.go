package app_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

// volume returns the number of jobs in the crash tests.
func volume() int {
	if os.Getenv("LAB_LONG_TESTS") == "1" {
		return 100_000
	}
	return 5_000
}

// tally is a receiver that counts deliveries by job, and stores which callback jobs reported each job.
type tally struct {
	*httptest.Server
	mu    sync.Mutex // guards the fields below
	sends map[string]int
	told  map[string]map[string]bool // webhook-ids by parent job
	last  time.Time
	total atomic.Int64
}

// newTally returns a receiver with slow responses, so that kills occur during deliveries.
func newTally(t *testing.T, takes time.Duration) *tally {
	r := &tally{sends: map[string]int{}, told: map[string]map[string]bool{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		timer := time.NewTimer(takes)
		defer timer.Stop()
		<-timer.C
		r.note(q, body)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *tally) note(q *http.Request, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = now()
	id := q.Header.Get("Webhook-Id")
	if q.URL.Path != "/told" {
		r.sends[id]++
		r.total.Add(1)
		return
	}
	var payload struct {
		JobID string `json:"job_id"`
	}
	_ = json.Unmarshal(body, &payload)
	if r.told[payload.JobID] == nil {
		r.told[payload.JobID] = map[string]bool{}
	}
	r.told[payload.JobID][id] = true
}

func (r *tally) distinct() (sent, told int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sends), len(r.told)
}

// enqueueMany enqueues n webhooks in batches, each with a subscriber.
func (p *process) enqueueMany(r *tally, n int) []string {
	p.t.Helper()
	client, ctx := p.client()
	told := r.URL + "/told"
	ids := make([]string, 0, n)
	for len(ids) < n {
		in := &taskqueuev1.EnqueueRequest{}
		for range min(500, n-len(ids)) {
			in.Tasks = append(in.Tasks, &taskqueuev1.Task{Task: 4, TaskType: 2, Data: webhookData(r.URL + "/hook"), Subscribe: &told})
		}
		answer, err := client.Enqueue(ctx, in)
		if err != nil {
			p.t.Fatal(err)
		}
		ids = append(ids, answer.GetJobIds()...)
	}
	return ids
}

// leased returns the jobs that are running according to Redis.
func (p *process) leased() map[string]bool {
	p.t.Helper()
	client, set := p.redis.Client(), map[string]bool{}
	for _, key := range keys(p.t, client, "act:webhook") {
		list, err := client.ZRange(p.t.Context(), key, 0, -1).Result()
		if err != nil {
			p.t.Fatal(err)
		}
		for _, id := range list {
			set[id] = true
		}
	}
	return set
}

func TestALoopOfKilledWorkersLosesNothingAndRepeatsOnlyWhatRan(t *testing.T) {
	t.Parallel()
	jobs := volume()
	r := newTally(t, 20*time.Millisecond)
	p := newProcess(t, "TASKQUEUE_OUTBOX_ENABLED=false", "TASKQUEUE_WEBHOOK_WORKERS=64", "TASKQUEUE_HOST_CONCURRENCY=200")
	p.ready()
	ids := p.enqueueMany(r, jobs)
	running := map[string]bool{}
	kills := 0
	for step := int64(jobs / 8); r.total.Load() < int64(jobs*7/8); step += int64(jobs / 8) {
		await.True(t, "more deliveries", func() bool { return r.total.Load() >= step })
		p.kill()
		kills++
		maps.Copy(running, p.leased())
		p.start()
	}
	killed := now()
	await.True(t, "all deliveries and callbacks", func() bool { sent, told := r.distinct(); return sent == jobs && told == jobs })
	p.awaitIdle()
	r.mu.Lock()
	defer r.mu.Unlock()
	repeated := 0
	for _, id := range ids {
		if r.sends[id] > 1 {
			repeated++
			if !running[id] {
				t.Errorf("%s was sent %d times and did not run at a kill", id, r.sends[id])
			}
		}
		if len(r.told[id]) != 1 {
			t.Errorf("%s has %d callback jobs, want 1", id, len(r.told[id]))
		}
	}
	t.Logf("%d jobs, %d kills, %d running at kills, %d repeated, 0 lost; last delivery %v after the last kill", jobs, kills, len(running), repeated, r.last.Sub(killed).Round(time.Millisecond))
	p.fsck()
}

// awaitIdle waits until no job is waiting or running.
func (p *process) awaitIdle() {
	p.t.Helper()
	client := p.redis.Client()
	await.True(p.t, "an idle queue", func() bool {
		keys, err := client.Keys(p.t.Context(), "tq:*:b:*").Result()
		return err == nil && len(keys) == 0
	})
}

// fsck runs the command fsck on the process's Redis.
func (p *process) fsck() {
	p.t.Helper()
	if text, err := p.verb("fsck", nil); err != nil {
		p.t.Errorf("fsck: %v\n%s", err, text)
	}
}

func TestEveryIDAnsweredIsThereAfterRedisWasKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	p.ready()
	client, ctx := p.client()
	var mu sync.Mutex // guards accepted
	var accepted []string
	var stop atomic.Bool
	var group sync.WaitGroup
	far := now().AddDate(0, 6, 0).Format("2006-01-02T15:04:05")
	for range 8 {
		group.Go(func() {
			for !stop.Load() {
				in := &taskqueuev1.ScheduleRequest{}
				for range 10 {
					in.Tasks = append(in.Tasks, &taskqueuev1.ScheduledTask{SchTime: far, Task: 4, TaskType: 2, Data: webhookData("http://127.0.0.1:1/")})
				}
				answer, err := client.Schedule(ctx, in)
				if err != nil {
					continue // rejected, so not acknowledged
				}
				mu.Lock()
				accepted = append(accepted, answer.GetJobIds()...)
				mu.Unlock()
			}
		})
	}
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(accepted) }
	const kills = 4
	for range kills {
		before := count()
		await.True(t, "accepted tasks", func() bool { return count() >= before+1000 })
		p.redis.Kill()
		p.redis.Restart()
	}
	stop.Store(true)
	group.Wait()
	p.ready()
	for chunk := range slices.Chunk(accepted, 1000) {
		raw, err := json.Marshal(chunk)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.JobInfo(ctx, &taskqueuev1.JobInfoRequest{Id: &typev1.RawJSON{Json: raw}})
		if err != nil || answer.GetCode() != 200 || len(answer.GetJobs()) != len(chunk) {
			t.Fatalf("code %d, %d of %d jobs, %d missing, %v", answer.GetCode(), len(answer.GetJobs()), len(chunk), len(answer.GetNotFound()), err)
		}
	}
	t.Logf("%d tasks answered with 200 over %d kills of Redis, all found", len(accepted), kills)
	p.fsck()
}

// pause makes Redis block all writes until it is resumed.
func pause(t *testing.T, client *redis.Client) {
	t.Helper()
	if err := client.Do(t.Context(), "CLIENT", "PAUSE", "60000", "WRITE").Err(); err != nil {
		t.Error(err)
	}
}

func TestAKillBetweenTheDeliveryAndItsAckMakesOneCallback(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client()
	r := newTally(t, 0)
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if r.total.Load() == 0 {
			pause(t, admin) // the settlement of this delivery reaches Redis and is blocked there
		}
		r.note(q, nil)
	}))
	t.Cleanup(gate.Close)
	p := newProcessOn(t, server, "TASKQUEUE_OUTBOX_ENABLED=false")
	p.ready()
	id := p.enqueueOne(gate.URL, r.URL+"/told")
	await.True(t, "the delivery", func() bool { return r.total.Load() == 1 })
	p.kill()
	if err := admin.Do(t.Context(), "CLIENT", "UNPAUSE").Err(); err != nil {
		t.Fatal(err)
	}
	if !p.leased()[id] {
		t.Fatal("the job was acknowledged: the kill came too late for this test")
	}
	p.start()
	await.True(t, "the second delivery", func() bool { return r.total.Load() == 2 })
	await.True(t, "the callback", func() bool { _, told := r.distinct(); return told == 1 })
	p.awaitIdle()
	if n := r.callbacks(id); n != 1 {
		t.Errorf("%d callback jobs, want 1", n)
	}
}

func TestAKillRightAfterTheAckMakesOneCallback(t *testing.T) {
	t.Parallel()
	r := newTally(t, 0)
	var tries atomic.Int64
	listener := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		if tries.Add(1) == 1 {
			<-q.Context().Done() // until the kill, so that the first process gets no response to its callback
			return
		}
		r.note(q, body)
	}))
	t.Cleanup(listener.Close)
	p := newProcess(t, "TASKQUEUE_OUTBOX_ENABLED=false")
	p.ready()
	client := p.redis.Client()
	id := p.enqueueOne(r.URL+"/hook", listener.URL+"/told")
	await.True(t, "the result and its callback on the way", func() bool { return tries.Load() == 1 })
	p.kill()
	bodies, err := client.Keys(t.Context(), "tq:*:b:*").Result()
	if err != nil || len(bodies) != 1 {
		t.Errorf("%d jobs after the ack, want the callback alone: %v, %v", len(bodies), bodies, err)
	}
	p.start()
	await.True(t, "the callback", func() bool { _, told := r.distinct(); return told == 1 })
	p.awaitIdle()
	if sent, _ := r.distinct(); sent != 1 || r.total.Load() != 1 || r.callbacks(id) != 1 || tries.Load() != 2 {
		t.Errorf("%d deliveries, %d callback jobs, %d tries", r.total.Load(), r.callbacks(id), tries.Load())
	}
}

func (r *tally) callbacks(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.told[id])
}

func (p *process) enqueueOne(url, told string) string {
	p.t.Helper()
	client, ctx := p.client()
	answer, err := client.Enqueue(ctx, &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{{Task: 4, TaskType: 2, Data: webhookData(url), Subscribe: &told}}})
	if err != nil {
		p.t.Fatal(err)
	}
	return answer.GetJobIds()[0]
}
