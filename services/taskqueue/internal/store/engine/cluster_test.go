package engine_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/freeport"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/audit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

const masters = 3

// openCluster starts a cluster of three masters with the given number of replicas each, and an engine on it. The
// masters come first in nodes.
func openCluster(t *testing.T, replicas int, set engine.Settings) (q *engine.Redis, nodes []*redistest.Server) {
	t.Helper()
	var addrs, buses, names []string
	for range masters * (1 + replicas) {
		bus := strconv.Itoa(freeport.One(t))
		node := redistest.Start(t, "--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "2000",
			"--repl-diskless-sync-delay", "0", "--cluster-require-full-coverage", "no")
		nodes, addrs, buses = append(nodes, node), append(addrs, node.Addr), append(buses, bus)
		names = append(names, node.Client().ClusterMyID(t.Context()).Val())
	}
	const slots = 16384
	for i, node := range nodes {
		ask(t, node, "CLUSTER", "SET-CONFIG-EPOCH", i+1)
		if i < masters {
			ask(t, node, "CLUSTER", "ADDSLOTSRANGE", i*slots/masters, (i+1)*slots/masters-1)
		}
		host, port, err := net.SplitHostPort(addrs[i])
		if err != nil {
			t.Fatal(err)
		}
		ask(t, nodes[0], "CLUSTER", "MEET", host, port, buses[i])
	}
	await.Nil(t, "the cluster", func() error { return whole(t.Context(), nodes) })
	for i, node := range nodes[masters:] {
		ask(t, node, "CLUSTER", "REPLICATE", names[i%masters])
	}
	await.Nil(t, "replicas in step", func() error { return copied(t.Context(), nodes[:masters], replicas) })
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, MaxRetries: -1, DialTimeout: time.Second})
	t.Cleanup(func() { _ = client.Close() })
	q = engine.New(engine.Config{Client: client, Bells: client, Settings: set})
	return q, nodes
}

func ask(t *testing.T, node *redistest.Server, command ...any) {
	t.Helper()
	if err := node.Client().Do(t.Context(), command...).Err(); err != nil {
		t.Fatal(command, err)
	}
}

// whole returns an error until every node knows all others and all slots are served.
func whole(ctx context.Context, nodes []*redistest.Server) error {
	for i, node := range nodes {
		text, err := node.Client().ClusterInfo(ctx).Result()
		if err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
		if !strings.Contains(text, "cluster_state:ok") || !strings.Contains(text, fmt.Sprintf("cluster_known_nodes:%d", len(nodes))) {
			return fmt.Errorf("node %d says %s", i, text)
		}
	}
	return nil
}

// copied returns an error until each master has the given number of replicas with all of its data.
func copied(ctx context.Context, nodes []*redistest.Server, replicas int) error {
	for i, node := range nodes {
		text, err := node.Client().Info(ctx, "replication").Result()
		if err != nil || strings.Count(text, "state=online") != replicas {
			return fmt.Errorf("node %d: %w %s", i, err, text)
		}
	}
	return nil
}

// checkSlots checks that the keys of a shard are in one slot, and that the nodes share the shards evenly.
func checkSlots(t *testing.T, nodes []*redistest.Server) {
	t.Helper()
	slots := map[string]int64{}
	for n, node := range nodes {
		before, node := len(slots), node.Client()
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
	set := engine.DefaultSettings()
	set.Archive = true
	q, nodes := openCluster(t, 0, set)
	g := engine.NewGate(q, engine.Durable, func([]string) {})
	if err := g.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys := job.NewGenerator(clock.System{})
	next := func(shard int, c job.Channel) job.ID {
		lane := job.Lane{Channel: c, Priority: job.High}
		if c == job.Callback {
			lane = engine.CallbackLane()
		}
		id := keys.Next(shard, lane)
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
			t.Errorf("got %v, %v, want engine.VerdictDone", verdicts, err)
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
		dead, err := q.Browse(t.Context(), engine.Range{Shard: shard, List: engine.ListDead, Flow: engine.AllFlows}, engine.Member{}, 10)
		if err != nil {
			t.Error(err)
		}
		if _, err := q.TrimDead(t.Context(), shard, append(dead, engine.Member{ID: ids[0]})); err != nil {
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
		if repaired, err := q.Repair(t.Context(), facts[2], nil, 0); !repaired || err != nil {
			t.Errorf("%v, %v", repaired, err)
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

// TestAMasterOfAClusterDiesUnderLoad kills one of three masters under load. Its shards wait until its replica is
// master, the others continue, and every acknowledged job must still exist.
func TestAMasterOfAClusterDiesUnderLoad(t *testing.T) {
	t.Parallel()
	set := engine.DefaultSettings()
	set.WaitReplicas = 1
	q, nodes := openCluster(t, 1, set)
	var mu sync.Mutex // guards accepted and later
	var accepted []job.ID
	later := map[int]bool{} // shards that accepted jobs after the death
	dead := make(chan struct{})
	var all sync.WaitGroup
	load, stop := context.WithCancel(t.Context())
	defer stop()
	for shard := range job.Shards {
		all.Go(func() {
			for load.Err() == nil {
				batch, err := someJobsOn(shard)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := q.Enqueue(load, batch)
				if err != nil { // the job was not acknowledged
					_ = lifecycle.Pause(load, 20*time.Millisecond)
					continue
				}
				mu.Lock()
				accepted = append(accepted, got.IDs...)
				select {
				case <-dead:
					later[shard] = true
				default:
				}
				mu.Unlock()
			}
		})
	}
	count := func() (jobs, shards int) { mu.Lock(); defer mu.Unlock(); return len(accepted), len(later) }
	await.True(t, "load", func() bool { jobs, _ := count(); return jobs > 2000 })
	nodes[0].Kill()
	close(dead)
	await.True(t, "the shards of the other masters continue", func() bool { _, shards := count(); return shards >= job.Shards-job.Shards/masters-1 })
	stop()
	all.Wait()
	await.Nil(t, "the replica is the master", func() error { return findAll(t.Context(), q, accepted) })
	jobs, shards := count()
	t.Logf("%d jobs acknowledged and found, %d of %d shards went on", jobs, shards, job.Shards)
}

// findAll returns an error for a job that is not in its lane.
func findAll(ctx context.Context, q *engine.Redis, ids []job.ID) error {
	for part := range slices.Chunk(ids, 500) {
		list, err := q.Info(ctx, part)
		if err != nil {
			return err
		}
		for _, s := range list {
			if s.Place != engine.PlaceLane || len(s.Body) == 0 {
				return fmt.Errorf("an accepted job is lost: %+v", s)
			}
		}
	}
	return nil
}
