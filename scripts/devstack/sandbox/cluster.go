package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/scripts/devstack/internal/engines"
	"github.com/labplatform/labplatform/scripts/devstack/internal/install"
	"github.com/labplatform/labplatform/scripts/devstack/internal/ports"
)

// Machines is the number of brokers and of search nodes in a cluster. The cluster works without one of them.
const Machines = 3

// clusterPorts is the offset of the cluster's first port. The platform uses no port of its hundred from there on.
const clusterPorts = 50

// Cluster holds the addresses of the engines of a cluster, named kafka-1 to kafka-3, connector-1 and connector-2,
// elasticsearch-1 to elasticsearch-3. Each can be killed, stopped and started by its name.
type Cluster struct {
	Brokers []string // host:port
	Workers []string // URLs of Kafka Connect
	Nodes   []string // URLs of Elasticsearch
}

// StartCluster starts Kafka, Kafka Connect and Elasticsearch as clusters. Up then uses them and starts none of its own.
func (s *Sandbox) StartCluster(ctx context.Context) (Cluster, error) {
	wanted := install.Wanted{Kafka: true, Connect: true, Elasticsearch: true,
		Distributions: cmp.Or(os.Getenv("LAB_DISTRIBUTIONS"), filepath.Join(s.Dir, "distributions"))}
	java, err := install.FetchJava(ctx, wanted, io.Discard)
	if err != nil {
		return Cluster{}, fmt.Errorf("engines of the cluster: %w", err)
	}
	cluster, all := s.describeCluster(java)
	children, err := engines.StartAll(ctx, s.spawner, all)
	for _, child := range children {
		s.restarts[child.Name], s.cluster[child.Name] = child, child.Command
	}
	if err != nil {
		return Cluster{}, fmt.Errorf("start the cluster: %w", err)
	}
	s.env = append(
		s.env,
		"LAB_KAFKA_BROKERS="+strings.Join(cluster.Brokers, ","),
		"LAB_CONNECT_URL="+strings.Join(cluster.Workers, ","),
		"LAB_ES_URL="+strings.Join(cluster.Nodes, ","),
		fmt.Sprintf("CDC_TOPIC_REPLICATION=%d", Machines),
		fmt.Sprintf("CDC_TOPIC_MIN_INSYNC=%d", Machines/2+1),
		"CDC_INDEX_REPLICAS=1",
	)
	return cluster, nil
}

// describeCluster assigns ports to every engine. The workers start after the first broker, which is ready only when the
// others are.
func (s *Sandbox) describeCluster(java install.Java) (Cluster, []engines.Engine) {
	next := s.ports.Port(ports.Gateway) + clusterPorts
	take := func() string {
		next++
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(next-1))
	}
	var cluster Cluster
	var controllers, transports []string
	for range Machines {
		cluster.Brokers, controllers = append(cluster.Brokers, take()), append(controllers, take())
		cluster.Nodes, transports = append(cluster.Nodes, "http://"+take()), append(transports, take())
	}
	var all []engines.Engine
	id := engines.ClusterID()
	for i := range Machines {
		broker := engines.KafkaBroker{Cluster: id, Controllers: controllers, Number: i}
		all = append(all, named(engines.Kafka(s.place("kafka", i, cluster.Brokers[i]), broker, java), "kafka", i))
		node := engines.SearchNode{Transports: transports, Number: i}
		all = append(
			all,
			named(engines.Elasticsearch(s.place("elasticsearch", i, cluster.Nodes[i]), node, java), "elasticsearch", i),
		)
	}
	first := &all[0]
	for i := range Machines - 1 {
		cluster.Workers = append(cluster.Workers, "http://"+take())
		worker := named(
			engines.Connect(s.place("connector", i, cluster.Workers[i]), strings.Join(cluster.Brokers, ","), "", java),
			"connector",
			i,
		)
		first.Then, first = &worker, &worker
	}
	return cluster, all
}

func named(engine engines.Engine, kind string, number int) engines.Engine {
	engine.Spec.Name = memberName(kind, number)
	return engine
}

func memberName(kind string, number int) string { return fmt.Sprintf("%s-%d", kind, number+1) }

func (s *Sandbox) place(kind string, number int, address string) engines.Place {
	name := memberName(kind, number)
	_, text, _ := net.SplitHostPort(strings.TrimPrefix(address, "http://"))
	port, _ := strconv.Atoi(text)
	return engines.Place{Data: filepath.Join(s.Dir, name), Log: filepath.Join(s.Dir, "logs", name+".log"), Port: port}
}
