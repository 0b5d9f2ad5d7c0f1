package janitor_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

var errAway = errors.New("the database is unavailable")

// switched is an archive that can be unavailable. It counts how often it received each job.
type switched struct {
	away  bool
	taken map[job.ID]int
}

func (s *switched) Write(_ context.Context, list []janitor.Entry) ([]job.ID, error) {
	if s.away {
		return nil, errAway
	}
	for _, e := range list {
		s.taken[e.ID]++
	}
	return nil, nil
}

func (s *switched) Purge(context.Context, time.Time) (int64, error) { return 0, nil }
func (s *switched) PurgeBatch() int64                               { return 10 }

type hands struct{ at time.Time }

func (h *hands) Now() time.Time { return h.at }

const bound = 200

// press is a queue on a real Redis whose jobs are delivered as fast as possible.
type press struct {
	*engine.Redis
	t     *testing.T
	ids   *job.Generator
	ended int
}

func (p *press) enqueue(n int) error {
	p.t.Helper()
	batch := engine.Batch{RequestHash: "h", KeepKey: time.Minute}
	for range n {
		id := p.ids.Next(0, job.Lane{Channel: job.Webhook, Priority: job.Low})
		batch.IdempotencyKey = string(id)
		body := &job.Body{Task: 4, LabID: 12, Flow: job.LabFlow(12), Data: make([]byte, 1000)}
		batch.Jobs = append(batch.Jobs, engine.NewJob{ID: id, Flow: body.Flow, Body: body.Encode(nil)})
	}
	_, err := p.Enqueue(p.t.Context(), batch)
	return err
}

// run delivers all jobs that may be claimed.
func (p *press) run() {
	p.t.Helper()
	for {
		c, err := p.Claim(p.t.Context(), engine.ClaimRequest{Channel: job.Webhook, Max: 50})
		if err != nil {
			p.t.Fatal(err)
		}
		if len(c.Jobs) == 0 {
			return
		}
		var list []engine.Settlement
		for _, j := range c.Jobs {
			r := job.Record{State: job.Finished, LabID: 12, EndedMs: 1000}
			list = append(list, engine.Settlement{ID: j.ID, Token: c.Token, Op: engine.OpSucceed, Payload: r.Encode(nil)})
		}
		if _, err := p.Settle(p.t.Context(), 0, job.Webhook, list); err != nil {
			p.t.Fatal(err)
		}
		p.ended += len(list)
	}
}

// endedBytes returns the bytes of finished jobs in Redis: archive queue and results.
func endedBytes(t *testing.T, client *redis.Client) (total int64) {
	t.Helper()
	keys := append(client.Keys(t.Context(), "tq:{00}:r:*").Val(), "tq:{00}:ar")
	for _, key := range keys {
		n, err := client.MemoryUsage(t.Context(), key, 0).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			t.Fatal(err)
		}
		total += n
	}
	return total
}

func TestWhileTheArchiveIsAwayWhatEndedIsBoundedAndEverythingIsArchivedOnceAfterwards(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t, "--appendfsync", "no").Client()
	set := engine.DefaultSettings()
	set.Archive, set.EndsLimit = true, bound
	q := engine.New(engine.Config{Client: client, Bells: client, Settings: set})
	p := &press{Redis: q, t: t, ids: job.NewGenerator(clock.System{})}
	store, clk := &switched{away: true, taken: map[job.ID]int{}}, &hands{at: time.UnixMilli(1_790_000_000_000)}
	a := &janitor.Archive{Queue: q, Store: store, Observer: archived{}, Clock: clk, Log: slog.New(slog.DiscardHandler), Age: time.Hour}
	for range 10 { // ten times the limit is accepted, whatever the archive does
		if err := p.enqueue(bound); err != nil {
			t.Fatal(err)
		}
		p.run()
		if err := a.RunOnce(t.Context(), every); !errors.Is(err, errAway) {
			t.Fatal(err)
		}
	}
	if p.ended < bound || p.ended > bound+50 {
		t.Errorf("%d jobs ended while the archive was away, want about %d", p.ended, bound)
	}
	if held := endedBytes(t, client); held > bound*400 {
		t.Errorf("what ended holds %d bytes", held)
	}
	store.away = false
	for rounds := 0; len(store.taken) < 10*bound && rounds < 100; rounds++ {
		if err := a.RunOnce(t.Context(), every); err != nil {
			t.Fatal(err)
		}
		p.run()
	}
	for id, n := range store.taken {
		if n != 1 {
			t.Errorf("%s was archived %d times", id, n)
		}
	}
	if len(store.taken) != 10*bound {
		t.Errorf("%d of %d jobs were archived", len(store.taken), 10*bound)
	}
	clk.at = clk.at.Add(time.Minute)
	if err := a.RunOnce(t.Context(), every); err != nil {
		t.Fatal(err)
	}
	if left := endedBytes(t, client); left != 0 {
		t.Errorf("archived jobs still hold %d bytes", left)
	}
}
