package broker_test

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/kafkatest"
	"github.com/labplatform/labplatform/services/cdc/connectors"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/heartbeat"
)

func TestTheTopicsHaveTheDocumentedConstants(t *testing.T) {
	t.Parallel()
	brokers := kafkatest.Brokers(t)
	server := strings.TrimSuffix(kafkatest.Prefix(t), ".")
	topics := broker.TopicConfig{Prefix: server + ".labdb", Replication: 1, MinInSync: 1, Retention: 168 * time.Hour}
	for range 2 { // the second call finds the topics
		if err := broker.EnsureTopics(t.Context(), config(brokers), topics, connectors.Names(), slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	admin, err := sarama.NewClusterAdmin(brokers, sarama.NewConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	want := map[string]int32{"labdb.userDetails": 6, "labdb.billing": 6, "labdb.labReportRelation": 6, "labdb.user_meta": 6, "labdb.cdc_heartbeat": 6,
		"labdb.cdc_signal": 1, "schema-history.source-existing": 1, "schema-history.source-projection": 1}
	var all map[string]sarama.TopicDetail
	var diff string
	await.True(t, "every broker knowing the topics", func() bool { // not every response has it at once
		if all, err = admin.ListTopics(); err != nil {
			t.Fatal(err)
		}
		got := map[string]int32{}
		for name, detail := range all {
			if rest, ours := strings.CutPrefix(name, server+"."); ours {
				got[rest] = detail.NumPartitions
			}
		}
		for _, name := range []string{broker.DeadLetters, broker.ConnectorDeadLetters, "__debezium-heartbeat." + server} {
			if _, there := all[name]; !there {
				return false
			}
		}
		diff = cmp.Diff(want, got)
		return len(got) >= len(want)
	})
	if diff != "" {
		t.Error(diff)
	}
	if history := all[server+".schema-history.source-existing"]; *history.ConfigEntries["retention.ms"] != "-1" {
		t.Errorf("the history of the tables' structure is deleted after %s ms", *history.ConfigEntries["retention.ms"])
	}
}

func TestATopicWithOtherPartitionsIsRefusedAndLeftAlone(t *testing.T) {
	t.Parallel()
	brokers := kafkatest.Brokers(t)
	server := strings.TrimSuffix(kafkatest.Prefix(t), ".")
	topics := broker.TopicConfig{Prefix: server + ".labdb", Replication: 1, MinInSync: 1, Retention: time.Hour}
	admin, err := sarama.NewClusterAdmin(brokers, sarama.NewConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if err := admin.CreateTopic(topics.Topic(change.Billing), &sarama.TopicDetail{NumPartitions: 3, ReplicationFactor: 1}, false); err != nil {
		t.Fatal(err)
	}
	await.Nil(t, "the refusal", func() error { // every broker must list the new topic
		err = broker.EnsureTopics(t.Context(), config(brokers), topics, connectors.Names(), slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "has 3 partitions, not 6: run cdc topics grow") {
			return fmt.Errorf("error %w", err)
		}
		return nil
	})
}

func TestTopicsGrowAndNothingIsLost(t *testing.T) {
	t.Parallel()
	brokers := kafkatest.Brokers(t)
	server := strings.TrimSuffix(kafkatest.Prefix(t), ".")
	topics := broker.TopicConfig{Prefix: server + ".labdb", Replication: 1, MinInSync: 1, Retention: time.Hour}
	ensure := func() {
		t.Helper()
		if err := broker.EnsureTopics(t.Context(), config(brokers), topics, nil, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	send := func(from, to int) {
		t.Helper()
		p := broker.NewProducer(config(brokers))
		defer func() { _ = p.Close(t.Context()) }()
		for i := from; i < to; i++ {
			await.Nil(t, "a broker that knows the topic", func() error { // every broker must know the new topic
				return p.Produce(t.Context(), topics.Topic(change.Billing), change.Record{Key: fmt.Append(nil, i%20)})
			})
		}
	}
	if err := broker.Grow(t.Context(), config(brokers), topics, 9, io.Discard); err == nil || !strings.Contains(err.Error(), "run cdc migrate") {
		t.Errorf("without topics: %v", err)
	}
	ensure()
	send(0, 100)
	for range 2 {
		await.Nil(t, "a broker that knows all topics", func() error {
			return broker.Grow(t.Context(), config(brokers), topics, 9, io.Discard)
		})
	}
	ensure()
	await.Nil(t, "the refusal of fewer", func() error {
		err := broker.Grow(t.Context(), config(brokers), topics, 8, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "cannot be taken away") {
			return fmt.Errorf("error %w", err)
		}
		return nil
	})
	positions := broker.NewPositions(config(brokers))
	t.Cleanup(func() { _ = positions.Close(t.Context()) })
	await.True(t, "nine partitions and the old records", func() bool {
		extents, err := positions.Extents(t.Context(), []string{topics.Topic(change.Billing)})
		return err == nil && len(extents) == 9 && records(extents) == 100
	})
	send(100, 200)
	extents, err := positions.Extents(t.Context(), []string{topics.Topic(change.Billing)})
	if err != nil || records(extents) != 200 {
		t.Errorf("got %v, %v, want 200", extents, err)
	}
}

func records(extents map[heartbeat.Partition]heartbeat.Extent) (n int64) {
	for _, e := range extents {
		n += e.End - e.Start
	}
	return n
}

func TestAReaderVisitsWhatIsThereAndStops(t *testing.T) {
	t.Parallel()
	brokers := kafkatest.Brokers(t)
	server := strings.TrimSuffix(kafkatest.Prefix(t), ".")
	topics := broker.TopicConfig{Prefix: server + ".labdb", Replication: 1, MinInSync: 1, Retention: time.Hour}
	if err := broker.EnsureTopics(t.Context(), config(brokers), topics, nil, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	p := broker.NewProducer(config(brokers))
	defer func() { _ = p.Close(t.Context()) }()
	want := map[string]bool{}
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		want[key] = true
		await.Nil(t, "a record in a topic of which the broker may not have heard yet", func() error {
			return p.Produce(t.Context(), topics.Topic(change.Billing), change.Record{Key: []byte(key), Headers: []change.Header{{Key: "h", Value: []byte(key)}}})
		})
	}
	got := map[string]bool{}
	if err := broker.Read(t.Context(), config(brokers), topics.Topic(change.Billing), func(r change.Record, total int64) error {
		if total != 7 || r.Header("h") != string(r.Key) || r.Value != nil {
			t.Errorf("record %+v of %d", r, total)
		}
		got[string(r.Key)] = true
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
