package engine_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// pairOfServers starts a master, a replica with all of its data, and a sentinel.
func pairOfServers(t *testing.T) (master *redistest.Server, sentinel string) {
	t.Helper()
	master = redistest.Start(t, "--repl-diskless-sync-delay", "0", "--min-replicas-to-write", "0")
	host, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		t.Fatal(err)
	}
	redistest.Start(t, "--replicaof", host, port)
	client := master.Client()
	await.True(t, "a replica in step", func() bool {
		info, err := client.Info(t.Context(), "replication").Result()
		return err == nil && strings.Contains(info, "state=online")
	})
	return master, redistest.StartSentinel(t, master)
}

func openByName(t *testing.T, sentinel string, set engine.Settings) *engine.Redis {
	t.Helper()
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: redistest.MasterName, SentinelAddrs: []string{sentinel},
		MaxRetries: -1, DialTimeout: time.Second, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	q := engine.New(engine.Config{Client: client, Bells: client, Settings: set})
	return q
}

func TestWhatWasAcknowledgedIsDeliveredAfterTheMastersDeath(t *testing.T) {
	t.Parallel()
	master, sentinel := pairOfServers(t)
	set := engine.DefaultSettings()
	set.WaitReplicas = 1
	q := openByName(t, sentinel, set)
	accepted := enqueueUntilItFails(t, q, 500, master.Kill)

	delivered := map[job.ID]bool{}
	await.True(t, "all that was acknowledged, from the new master", func() bool {
		c, err := q.Claim(t.Context(), engine.ClaimRequest{Channel: job.Webhook, Max: 250})
		if err != nil || q.ReadBodies(t.Context(), c.Jobs) != nil {
			return false // no master yet
		}
		for _, j := range c.Jobs {
			delivered[j.ID] = len(j.Raw) > 0
		}
		return len(c.Jobs) == 0
	})
	for _, id := range accepted {
		if !delivered[id] {
			t.Errorf("%s was acknowledged and is lost", id)
		}
	}
	t.Logf("%d jobs acknowledged, %d found on the new master", len(accepted), len(delivered))
	if _, err := enqueueSome(t.Context(), q); !errors.Is(err, engine.ErrUnconfirmed) {
		t.Errorf("a batch that no replica has was accepted: %v", err)
	}
}

// TestARepeatedBatchIsNotAcceptedBeforeItIsCopied checks that a repeated batch whose jobs already exist also waits for
// the replicas.
func TestARepeatedBatchIsNotAcceptedBeforeItIsCopied(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	set := engine.DefaultSettings()
	set.WaitReplicas = 1
	careful, quick := open(t, server.Addr, 0, set), open(t, server.Addr, 0, engine.DefaultSettings())
	b, err := someJobs()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := careful.Enqueue(t.Context(), b); !errors.Is(err, engine.ErrUnconfirmed) {
			t.Errorf("accepted without a copy: %v", err)
		}
	}
	if again, err := quick.Enqueue(t.Context(), b); err != nil || !again.Replay || again.IDs[0] != b.Jobs[0].ID {
		t.Errorf("%+v, %v", again, err)
	}
}
