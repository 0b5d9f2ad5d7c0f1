package broker_test

import (
	"errors"
	"testing"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
)

// tool returns an admin client, for changes that an operator makes while no process runs.
func tool(t *testing.T, brokers []string) sarama.ClusterAdmin {
	t.Helper()
	settings := sarama.NewConfig()
	settings.Version = sarama.V3_6_0_0
	admin, err := sarama.NewClusterAdmin(brokers, settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	return admin
}

// move sets an offset like kafka-consumer-groups --reset-offsets.
func move(t *testing.T, brokers []string, partition int32, to int64) {
	t.Helper()
	coordinator, err := tool(t, brokers).Coordinator(broker.GroupID)
	if err != nil {
		t.Fatal(err)
	}
	request := &sarama.OffsetCommitRequest{Version: 2, ConsumerGroup: broker.GroupID, ConsumerGroupGeneration: -1, RetentionTime: -1}
	request.AddBlock(topic, partition, to, 0, "")
	answer, err := coordinator.CommitOffset(request)
	if err == nil && answer.Errors[topic][partition] != sarama.ErrNoError {
		err = answer.Errors[topic][partition]
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestOffsetsThatSomeoneElseMovedAreNoticedOnce(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, brokers []string){
		"to the end":       func(t *testing.T, brokers []string) { move(t, brokers, 0, 60) },
		"to the beginning": func(t *testing.T, brokers []string) { move(t, brokers, 0, 0) },
		"to where it was":  func(t *testing.T, brokers []string) { move(t, brokers, 0, 30) },
		"of the partition that never had a record": func(t *testing.T, brokers []string) { move(t, brokers, 1, 0) },
		"removed": func(t *testing.T, brokers []string) {
			if err := tool(t, brokers).DeleteConsumerGroupOffset(broker.GroupID, topic, 0); err != nil {
				t.Fatal(err)
			}
		},
		"the whole group": func(t *testing.T, brokers []string) {
			if err := tool(t, brokers).DeleteConsumerGroup(broker.GroupID); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, l := oneOfTwo(t)
			want := 1 // one per partition
			if name == "the whole group" {
				want = 2
			}
			change(t, c.ListenAddrs())
			for _, what := range []string{"the move", "the next start"} {
				_, stop := join(t, c.ListenAddrs(), l)
				await.True(t, "the partitions after "+what, func() bool { return l.running() == 2 })
				stop()
				if times := l.triesToMakeUp(); times != want {
					t.Errorf("after %s the patients were computed again %d times, want %d", what, times, want)
				}
			}
		})
	}
}

// TestWhatThisServiceCommittedIsNoMove checks that no move is detected after a restart, after a crash before the
// fetched records were processed, or after a release without stamps.
func TestWhatThisServiceCommittedIsNoMove(t *testing.T) {
	t.Parallel()
	c, l := oneOfTwo(t)
	clear(l.stamped)
	move(t, c.ListenAddrs(), 0, 30) // commits like a release without stamps
	for range 3 {
		_, stop := join(t, c.ListenAddrs(), l)
		await.True(t, "the partitions", func() bool { return l.running() == 2 })
		stop()
	}
	if times := l.triesToMakeUp(); times != 0 || !l.stamped["userDetails/0"] || !l.stamped["userDetails/1"] {
		t.Errorf("the patients were computed again %d times, want never; remembered: %v", times, l.stamped)
	}
}

// TestAMoveIsNotForgottenWhileTheDatabaseIsUnavailable checks that no record after a moved offset is read before the
// full resync was started, because its commit would hide the move.
func TestAMoveIsNotForgottenWhileTheDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	c, l := oneOfTwo(t)
	move(t, c.ListenAddrs(), 0, 50)
	l.away(errors.New("the database is unavailable"))
	before := l.asks()
	_, stop := join(t, c.ListenAddrs(), l)
	await.True(t, "two tries of each partition", func() bool { return l.asks() >= before+4 })
	if l.count() != 30 {
		t.Errorf("%d records came while the move cannot be noted, want the 30 of before", l.count())
	}
	stop()
	l.away(nil)
	join(t, c.ListenAddrs(), l)
	await.True(t, "the records behind the move", func() bool { return l.count() == 40 })
	if l.triesToMakeUp() != 1 {
		t.Errorf("the patients were computed again %d times, want once", l.triesToMakeUp())
	}
}

// oneOfTwo returns a topic of two partitions. The group has processed 30 of 60 records, all from the first partition.
func oneOfTwo(t *testing.T) (*kfake.Cluster, *ledger) {
	t.Helper()
	c, l := cluster(t, kfake.SeedTopics(1, topic)), newLedger()
	produce(t, c.ListenAddrs(), 0, 30)
	if err := tool(t, c.ListenAddrs()).CreatePartitions(topic, 2, nil, false); err != nil {
		t.Fatal(err)
	}
	_, stop := join(t, c.ListenAddrs(), l)
	await.True(t, "both partitions", func() bool { return l.running() == 2 && l.count() == 30 })
	stop()
	if l.triesToMakeUp() != 0 {
		t.Fatal("a new group makes up for records")
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range 30 {
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("{}")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	return c, l
}
