package capture

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/IBM/sarama"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

// faults returns the outages. The machine is chosen when an outage begins: it is the one whose work others must take
// over.
func (m *machines) faults() []outage {
	return []outage{
		m.killed("the consumers' broker", "kafka", m.coordinator("cdc-unified")),
		m.frozen("the consumers' broker", "kafka", m.coordinator("cdc-unified"), shortFault),
		m.frozen("the workers' broker", "kafka", m.coordinator("lab-connect"), shortFault),
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

// kafka calls question with a client of the brokers.
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

// coordinator returns the number of the broker that coordinates a consumer group.
func (m *machines) coordinator(group string) func() (int, error) {
	return func() (number int, err error) {
		err = m.kafka(func(client sarama.Client) error {
			broker, err := client.Coordinator(group)
			if err == nil {
				number = int(broker.ID())
			}
			return err
		})
		return number, err
	}
}

// worker returns the number of a worker that runs a task.
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

// master returns the number of the master node of the index. Nodes are named lab-1 and so on.
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

// follower returns the number of a node that is not the master.
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

// diskThreshold sets the disk watermark so that the nodes count as full or not. Full nodes refuse writes.
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
