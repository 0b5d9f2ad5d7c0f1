package capture

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

const (
	// shortFault is longer than the sessions of members, workers and brokers; longFault than Elasticsearch waits for a
	// node that is silent, three times ten seconds.
	shortFault = 20 * time.Second
	longFault  = 50 * time.Second
)

// machines is the platform on clusters: three brokers, three search nodes, two workers of Kafka Connect, three consumers.
type machines struct {
	t         *testing.T
	cluster   sandbox.Cluster
	db        *sql.DB
	consumers []*consumer
}

// TestAnyMachineOfAClusterMayFail takes one machine away at a time, under writes and searches. While it is away, and after
// it came back, the index becomes equal to the tables, and searches are answered. It prints how long and how many.
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

// startMachines puts a platform on clusters in the place of the one on single engines until the test ends.
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

// outage is one machine that is away for a while.
type outage struct {
	name       string
	lasts      time.Duration
	begin, end func() error
	readOnly   bool // the index cannot be written meanwhile
}

// suffer writes and searches during one outage and returns its line of the table.
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

// faults are the outages. Which machine it is that fails is decided at that moment: the one whose work somebody else
// must take over.
func (m *machines) faults() []outage {
	return []outage{
		m.killed("a broker, coordinator of the group", "kafka", m.coordinator),
		m.frozen("a broker, leader of a partition", "kafka", m.leader, shortFault),
		m.killed("a worker of Kafka Connect", "connector", m.worker),
		m.killedConsumer(m.consumers[0]),
		m.frozenConsumer(m.consumers[1]),
		m.killed("the index's master", "elasticsearch", m.master),
		{name: "the index's disks are full", lasts: shortFault, readOnly: true,
			begin: func() error { return m.diskThreshold("1%", true) }, end: func() error { return m.diskThreshold("99%", false) }},
		m.frozen("a node of the index", "elasticsearch", m.follower, longFault),
		m.frozen("the index's master", "elasticsearch", m.master, longFault),
	}
}

func (m *machines) killed(what, kind string, which func() (int, error)) outage {
	var name string
	return outage{name: "kill " + what, lasts: shortFault, begin: func() error {
		number, err := which()
		if err != nil {
			return err
		}
		name = fmt.Sprintf("%s-%d", kind, number)
		return platform.Kill(name)
	}, end: func() error { return platform.Start(name, nil) }}
}

func (m *machines) frozen(what, kind string, which func() (int, error), lasts time.Duration) outage {
	var name string
	return outage{name: "freeze " + what, lasts: lasts, begin: func() error {
		number, err := which()
		if err != nil {
			return err
		}
		name = fmt.Sprintf("%s-%d", kind, number)
		return platform.Signal(name, syscall.SIGSTOP)
	}, end: func() error { return platform.Signal(name, syscall.SIGCONT) }}
}

func (m *machines) killedConsumer(c *consumer) outage {
	return outage{name: "kill a consumer", lasts: shortFault, begin: func() error { return platform.Kill(c.name) },
		end: func() error { c.start(m.t, program()); return nil }}
}

func (m *machines) frozenConsumer(c *consumer) outage {
	return outage{name: "freeze a consumer", lasts: shortFault, begin: func() error { return platform.Signal(c.name, syscall.SIGSTOP) },
		end: func() error { return platform.Signal(c.name, syscall.SIGCONT) }}
}

// kafka asks the brokers.
func (m *machines) kafka(question func(sarama.Client) error) error {
	settings := sarama.NewConfig()
	settings.Version = sarama.V3_6_0_0
	client, err := sarama.NewClient(m.cluster.Brokers, settings)
	if err != nil {
		return err
	}
	defer client.Close()
	return question(client)
}

func (m *machines) coordinator() (number int, err error) {
	err = m.kafka(func(client sarama.Client) error {
		broker, err := client.Coordinator("cdc-unified")
		if err == nil {
			number = int(broker.ID())
		}
		return err
	})
	return number, err
}

func (m *machines) leader() (number int, err error) {
	err = m.kafka(func(client sarama.Client) error {
		broker, err := client.Leader(platform.Endpoints.TopicPrefix+".userDetails", 0)
		if err == nil {
			number = int(broker.ID())
		}
		return err
	})
	return number, err
}

// worker is the one that runs a task.
func (m *machines) worker() (int, error) {
	text, err := fetch(http.MethodGet, m.cluster.Workers[0]+"/connectors/source-existing/status", "")
	if err != nil {
		return 0, err
	}
	var status struct {
		Tasks []struct {
			Worker string `json:"worker_id"`
		}
	}
	if err := json.Unmarshal(text, &status); err != nil || len(status.Tasks) != 1 {
		return 0, fmt.Errorf("%s: %w", text, err)
	}
	return slices.Index(m.cluster.Workers, "http://"+status.Tasks[0].Worker) + 1, nil
}

// master is the number of the index's master; nodes are called lab-1 and so on.
func (m *machines) master() (number int, err error) {
	base, err := indexNode()
	if err != nil {
		return 0, err
	}
	text, err := fetch(http.MethodGet, base+"/_cat/master?h=node", "")
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscanf(string(text), "lab-%d", &number)
	return number, err
}

// follower is a node that is not the master.
func (m *machines) follower() (int, error) {
	master, err := m.master()
	return master%sandbox.Machines + 1, err
}

func (m *machines) settings(body string) {
	m.t.Helper()
	await.Nil(m.t, "the cluster's settings", func() error {
		base, err := indexNode()
		if err == nil {
			_, err = fetch(http.MethodPut, base+"/_cluster/settings", body)
		}
		return err
	})
}

// diskThreshold lets the index believe that its disks are full, or not; with full ones it refuses writes.
func (m *machines) diskThreshold(mark string, full bool) error {
	m.settings(fmt.Sprintf(`{"persistent":{"cluster.routing.allocation.disk":{"threshold_enabled":%t,"watermark.low":%q,"watermark.high":%q,"watermark.flood_stage":%q}}}`,
		full, mark, mark, mark))
	await.Nil(m.t, "the index being read-only or not", func() error {
		base, err := indexNode()
		if err != nil {
			return err
		}
		text, err := fetch(http.MethodGet, base+"/user_details/_settings?filter_path=*.*.*.blocks", "")
		if err == nil && strings.Contains(string(text), "read_only_allow_delete") != full {
			err = fmt.Errorf("%s", text)
		}
		return err
	})
	return nil
}

// whole waits until every copy of everything is there: the next fault hits a cluster that can bear it.
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
