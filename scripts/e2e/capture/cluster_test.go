package capture

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

const (
	// shortFault is longer than the sessions of consumers, workers and brokers. longFault is longer than the 3 times 10
	// seconds that Elasticsearch waits for a silent node.
	shortFault = 20 * time.Second
	longFault  = 50 * time.Second
)

// machines is a platform on clusters: three brokers, three search nodes, two workers of Kafka Connect, three consumers.
type machines struct {
	t         *testing.T
	cluster   sandbox.Cluster
	db        *sql.DB
	consumers []*consumer
}

// TestAnyMachineOfAClusterMayFail stops one machine at a time, under writes and searches. During the outage and after
// it, the index must become equal to the tables, and searches must succeed. The test prints durations and numbers.
func TestAnyMachineOfAClusterMayFail(t *testing.T) {
	if !long() {
		t.Skip("eight engines in Java take 4 GB and a quarter of an hour: LAB_LONG_TESTS=1")
	}
	m := startMachines(t)
	who := startSearching(t)
	var table strings.Builder
	for _, f := range m.faults() {
		t.Run(f.name, func(t *testing.T) { fmt.Fprintln(&table, m.suffer(t, f, who)) })
	}
	t.Logf("\n%-36s %14s %14s %10s %6s %7s %6s %7s %9s\n%s", "fault", "equal meanwhile", "equal after it", "searches", "failed", "in part", "> 1 s", "slowest", "not ready", table.String())
}

// startMachines replaces the platform by one on clusters until the test ends.
func startMachines(t *testing.T) *machines {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	single := platform
	if err := single.Down(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		platform = single
		if _, err := platform.Up(context.Background()); err != nil {
			t.Error(err)
		}
	})
	several, err := sandbox.Build(ctx, "LAB_SEED=none", "LAB_PIPELINE=on", "SEARCH_RATE_LIMIT_PER_MINUTE=1000000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(several.Remove)
	cluster, err := several.StartCluster(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := several.Up(ctx); err != nil {
		t.Fatal(err)
	}
	platform = several
	m := &machines{t: t, cluster: cluster, db: database(t)}
	session := map[string]string{"CDC_SESSION_TIMEOUT": "6s"}
	m.consumers = append(consumers(t, session), another(t, "cdc-three", session))
	if err := platform.Stop("cdc"); err != nil {
		t.Fatal(err)
	}
	for _, c := range m.consumers {
		c.start(t, program())
	}
	m.settings(`{"persistent":{"cluster.info.update.interval":"10s"}}`)
	m.whole(t)
	return m
}

// outage is one machine that is unavailable for some time.
type outage struct {
	name       string
	lasts      time.Duration
	begin, end func() error
	readOnly   bool // the index refuses writes during the outage
}

// suffer runs writes and searches during one outage. It returns a line of the printed table.
func (m *machines) suffer(t *testing.T, f outage, who *searcher) string {
	t.Helper()
	var over atomic.Bool
	written := make(chan struct{})
	work := &workload{db: m.db, seed: uint64(time.Now().UnixNano())}
	go func() {
		defer close(written)
		work.run(t, func(int64) bool { return !over.Load() })
	}()
	rest(2 * time.Second)
	who.begin()
	if err := f.begin(); err != nil {
		t.Errorf("begin: %v", err)
	}
	rest(f.lasts)
	over.Store(true)
	<-written
	meanwhile := "-"
	if !f.readOnly {
		meanwhile = fmt.Sprintf("%.1f s", m.equal(t).Seconds())
	}
	if err := f.end(); err != nil {
		t.Errorf("end: %v", err)
	}
	after := fmt.Sprintf("%.1f s", m.equal(t).Seconds())
	m.whole(t)
	s := who.end(t)
	line := fmt.Sprintf("%-36s %14s %14s %10d %6d %7d %6d %5.1f s %9d", f.name, meanwhile, after, s.asked, s.failed, s.inPart, s.slow, s.slowest.Seconds(), s.unready)
	t.Log(line)
	return line
}

// equal waits until the index equals the tables and returns how long that took.
func (m *machines) equal(t *testing.T) time.Duration {
	t.Helper()
	begin := time.Now()
	converge(t, m.db)
	return time.Since(begin)
}

// whole waits until all replicas are in sync, so that the cluster can survive the next fault.
func (m *machines) whole(t *testing.T) {
	t.Helper()
	await.Nil(t, "every copy of the index", func() error {
		base, err := indexNode()
		if err == nil {
			_, err = fetch(http.MethodGet, base+"/_cluster/health?wait_for_status=green&wait_for_nodes=3&timeout=5s", "")
		}
		return err
	})
	await.Nil(t, "every copy of the topics", func() error {
		return m.kafka(func(client sarama.Client) error {
			topics, err := client.Topics()
			for _, topic := range topics {
				partitions, err := client.Partitions(topic)
				if err != nil {
					return err
				}
				for _, p := range partitions {
					if copies, err := client.InSyncReplicas(topic, p); err != nil || len(copies) != sandbox.Machines {
						return fmt.Errorf("%s/%d has copies on %v: %w", topic, p, copies, err)
					}
				}
			}
			return err
		})
	})
}
