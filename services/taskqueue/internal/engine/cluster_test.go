package engine_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/pkg/testkit/servicetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/audit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// openCluster makes a cluster of three masters and an engine on it.
func openCluster(t *testing.T) (q *engine.Redis, masters []*redis.Client) {
	t.Helper()
	addrs := make([]string, 3)
	nodes := make([]*redis.Client, 3)
	var buses []string
	for i := range nodes {
		bus := strconv.Itoa(servicetest.FreePort(t))
		server := redistest.Start(t, "--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "2000")
		addrs[i], nodes[i], buses = server.Addr, server.Client(), append(buses, bus)
	}
	const slots = 16384
	for i, node := range nodes {
		if err := node.ClusterAddSlotsRange(t.Context(), i*slots/3, (i+1)*slots/3-1).Err(); err != nil {
			t.Fatal(err)
		}
		if err := node.Do(t.Context(), "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range nodes[1:] {
		host, port, err := net.SplitHostPort(addrs[i+1])
		if err != nil {
			t.Fatal(err)
		}
		if err := nodes[0].Do(t.Context(), "CLUSTER", "MEET", host, port, buses[i+1]).Err(); err != nil {
			t.Fatal(err)
		}
	}
	await.Nil(t, "the cluster", func() error { return whole(t.Context(), nodes) })
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	set := engine.DefaultSettings()
	set.Archive = true
	q, err := engine.New(engine.Config{Client: client, Bells: client, Settings: set})
	if err != nil {
		t.Fatal(err)
	}
	return q, nodes
}

// whole returns what is missing until every node knows all three and all slots are served.
func whole(ctx context.Context, nodes []*redis.Client) error {
	for i, node := range nodes {
		text, err := node.ClusterInfo(ctx).Result()
		if err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
		if !strings.Contains(text, "cluster_state:ok") || !strings.Contains(text, "cluster_known_nodes:3") {
			return fmt.Errorf("node %d says %s", i, text)
		}
	}
	return nil
}

// checkSlots makes sure that the keys of a shard are on one slot and that the nodes share the shards evenly.
func checkSlots(t *testing.T, nodes []*redis.Client) {
	t.Helper()
	slots := map[string]int64{}
	for n, node := range nodes {
		before := len(slots)
		keys, err := node.Keys(t.Context(), "tq:{*").Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			slot, err := node.ClusterKeySlot(t.Context(), key).Result()
			if err != nil {
				t.Fatal(err)
			}
			shard, _, _ := strings.Cut(key, "}")
			if known, ok := slots[shard]; ok && known != slot {
				t.Errorf("%s is on slot %d, its shard on %d", key, slot, known)
			}
			slots[shard] = slot
		}
		if held := len(slots) - before; held != job.Shards/len(nodes) && held != job.Shards/len(nodes)+1 {
			t.Errorf("node %d holds %d of %d shards", n, held, job.Shards)
		}
	}
}

func TestEveryScriptKeepsToOneSlotOfACluster(t *testing.T) {
	t.Parallel()
	q, nodes := openCluster(t)
	g := engine.NewGate(q, engine.Durable, func([]string) {})
	if err := g.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys := job.NewGenerator(clock.System{}, rand.Reader)
	next := func(shard int, c job.Channel) job.ID {
		lane := job.Lane{Channel: c, Priority: job.High}
		if c == job.Callback {
			lane = engine.CallbackLane()
		}
		id, err := keys.Next(shard, lane)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	for shard := range job.Shards {
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
			{ID: ids[2], Token: c.Token, Op: engine.OpRetry, Payload: []byte("y"), Delay: time.Hour, Window: "w"}}
		if verdicts, err := q.Settle(t.Context(), shard, job.Webhook, list); err != nil || verdicts[0] != engine.VerdictDone {
			t.Errorf("%v, %v", verdicts, err)
		}
		if _, err := q.MarkIntent(t.Context(), ids[1], 1, "p"); err != nil {
			t.Error(err)
		}
		revival := engine.Revival{ID: ids[0], Body: []byte("z"), Observed: []byte("r"), Window: "w"}
		if ok, err := q.RetryFailed(t.Context(), []engine.Revival{revival}, time.Minute); err != nil || !ok[0] {
			t.Errorf("%v, %v", ok, err)
		}
		if _, err := q.Reschedule(t.Context(), engine.Move{ID: ids[1], DueMs: 1, Observed: []byte("x"), Body: []byte("x"), Window: "w"}); err != nil {
			t.Error(err)
		}
		if _, err := q.Expired(t.Context(), shard, job.Webhook, 10); err != nil {
			t.Error(err)
		}
		if _, err := q.Resolve(t.Context(), engine.Resolution{ID: ids[0], Record: []byte("r"), Callbacks: []engine.NewJob{{ID: next(shard, job.Callback)}}}); err != nil {
			t.Error(err)
		}
		dead, err := q.OldestDead(t.Context(), shard, engine.AllFlows, 1<<50, 10)
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
			{ID: next((shard+1)%job.Shards, job.Email), Record: []byte("c")}})
		if err != nil || all[0] != engine.CancelDone || all[1] != engine.CancelNotFound {
			t.Errorf("%v, %v", all, err)
		}
		ends, err := q.OldestEnds(t.Context(), shard, 10)
		if err != nil || len(ends.IDs) == 0 {
			t.Errorf("%d ends, %v", len(ends.IDs), err)
		}
		if went, err := q.TrimEnds(t.Context(), shard, ends); !went || err != nil {
			t.Errorf("%v, %v", went, err)
		}
		fence, err := q.Lead(t.Context(), shard, "test", time.Hour)
		if err != nil {
			t.Error(err)
		}
		if _, err := q.Reap(t.Context(), shard, job.Webhook, fence, []engine.Settlement{{ID: ids[2], Op: engine.OpRelease}}); err != nil {
			t.Error(err)
		}
		facts, err := q.Info(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		if mended, err := q.Mend(t.Context(), facts[2], nil, 0); !mended || err != nil {
			t.Errorf("%v, %v", mended, err)
		}
	}
	if err := g.ReserveKey(t.Context(), 7, "k", "h", time.Hour); err != nil {
		t.Error(err)
	}
	if report, err := audit.Check(t.Context(), q); err != nil || len(report.Violations) > 0 || report.Checked["bodies"] == 0 {
		t.Errorf("%+v, %v", report, err)
	}
	checkSlots(t, nodes)
}
