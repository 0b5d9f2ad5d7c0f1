package broker

import (
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// TestFetchesAreCountedAfterOtherConnectionsClosed closes an idle connection, as brokers do. Sarama then unregisters
// the meters of all connections, but fetches must still be counted, or the process would report itself as dead.
func TestFetchesAreCountedAfterOtherConnectionsClosed(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "changes"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	counted := newFetches()
	settings, err := (Config{Brokers: cluster.ListenAddrs(), Version: "3.6.0"}).client("test")
	if err != nil {
		t.Fatal(err)
	}
	settings.MetricRegistry, settings.Consumer.MaxWaitTime = counted, 50*time.Millisecond
	consumer, err := sarama.NewConsumer(cluster.ListenAddrs(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = consumer.Close() })
	read, err := consumer.ConsumePartition("changes", 0, sarama.OffsetOldest)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = read.Close() })
	for round := range 3 {
		before := counted.count()
		await.True(t, "fetches are counted", func() bool { return counted.count() > before+2 })
		idle := sarama.NewBroker(cluster.ListenAddrs()[0])
		if err := idle.Open(settings); err != nil {
			t.Fatal(err)
		}
		if connected, err := idle.Connected(); !connected || err != nil {
			t.Fatalf("round %d: connected %t, %v", round, connected, err)
		}
		if err := idle.Close(); err != nil {
			t.Fatal(err)
		}
	}
	before := counted.count()
	await.True(t, "fetches are counted after other connections closed", func() bool { return counted.count() > before+2 })
}
