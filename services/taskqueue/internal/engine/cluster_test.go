package engine_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// openCluster makes an engine of four shards on a cluster of one node, which checks the slots of keys like any.
func openCluster(t *testing.T) *engine.Redis {
	t.Helper()
	server := redistest.Start(t, "--cluster-enabled", "yes")
	node := server.Client()
	if err := node.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Addr}, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	awaitCluster(t, client)
	set := engine.DefaultSettings()
	set.Shards = 4
	q, err := engine.New(engine.Config{Client: client, Bells: client, Settings: set})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func awaitCluster(t *testing.T, client *redis.ClusterClient) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for client.Set(ctx, "probe", "1", time.Second).Err() != nil {
		select {
		case <-ctx.Done():
			t.Fatal("the cluster does not come up")
		case <-ticker.C:
		}
	}
}

func TestEveryScriptKeepsToOneSlotOfACluster(t *testing.T) {
	t.Parallel()
	q := openCluster(t)
	g := engine.NewGate(q, engine.Durable, func([]string) {})
	if err := g.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys := job.NewGenerator(clock.System{}, rand.Reader)
	next := func(shard int, c job.Channel) job.ID {
		id, err := keys.Next(shard, job.Lane{Channel: c, Priority: job.High})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	for shard := range 4 {
		ids := []job.ID{next(shard, job.Webhook), next(shard, job.SMS), next(shard, job.Webhook), next(shard, job.Webhook)}
		batch := engine.Batch{IdempotencyKey: string(ids[0]), RequestHash: "h", KeepKey: time.Minute}
		for i, id := range ids {
			batch.Jobs = append(batch.Jobs, engine.NewJob{ID: id, Body: []byte("x")})
			if i == 3 {
				batch.Jobs[i].Window = &engine.Window{Key: "w"}
			}
		}
		if _, err := g.Enqueue(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		c, err := q.Claim(t.Context(), engine.ClaimRequest{Shard: shard, Channel: job.Webhook, Max: 2, Turn: 1})
		if err != nil || len(c.Jobs) != 2 {
			t.Fatalf("%d jobs, %v", len(c.Jobs), err)
		}
		if _, err := q.Renew(t.Context(), shard, job.Webhook, []engine.Renewal{{ID: ids[0], Mine: c.Token, Proposed: c.Token + 1000}}); err != nil {
			t.Error(err)
		}
		list := []engine.Settlement{{ID: ids[0], Token: c.Token + 1000, Op: engine.OpFail, Payload: []byte("r"),
			Callbacks: []engine.NewJob{{ID: next(shard, job.Callback), Body: []byte("cb")}}},
			{ID: ids[2], Token: c.Token, Op: engine.OpRetry, Payload: []byte("y"), Delay: time.Hour}}
		if verdicts, err := q.Settle(t.Context(), shard, job.Webhook, list); err != nil || verdicts[0] != engine.VerdictDone {
			t.Errorf("%v, %v", verdicts, err)
		}
		if _, err := q.MarkIntent(t.Context(), ids[1], 1, "p"); err != nil {
			t.Error(err)
		}
		if ok, err := q.RetryFailed(t.Context(), ids[0], []byte("z"), []byte("r"), time.Minute); !ok || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
		if _, err := q.Reschedule(t.Context(), ids[1], 1); err != nil {
			t.Error(err)
		}
		if _, err := q.Expired(t.Context(), shard, job.Webhook, 10); err != nil {
			t.Error(err)
		}
		dead, _, err := q.OldestDead(t.Context(), shard, 1<<50, 10)
		if err != nil {
			t.Error(err)
		}
		if _, err := q.TrimDead(t.Context(), shard, append(dead, engine.Dead{ID: ids[0]})); err != nil {
			t.Error(err)
		}
		if _, err := q.Depths(t.Context(), shard); err != nil {
			t.Error(err)
		}
		if err := q.WaitBell(t.Context(), shard, job.Webhook, time.Millisecond); err != nil {
			t.Error(err)
		}
		all, err := q.Cancel(t.Context(), []engine.Cancellation{{ID: ids[1], Record: []byte("c"), Callbacks: []engine.NewJob{{ID: next(shard, job.Callback), Body: []byte("cb")}}},
			{ID: next((shard+1)%4, job.Email), Record: []byte("c")}})
		if err != nil || all[0] != engine.CancelDone || all[1] != engine.CancelNotFound {
			t.Errorf("%v, %v", all, err)
		}
	}
}
