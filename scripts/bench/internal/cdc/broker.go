package cdc

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"golang.org/x/sync/errgroup"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
)

// Consumer groups of the service and of the peer.
const (
	group     = "cdc-unified"
	peerGroup = "bench-peer"
)

func tables() []string { return []string{"userDetails", "billing", "labReportRelation", "user_meta"} }

// broker reads the change topics and the committed offsets of groups.
type broker struct {
	addresses []string
	prefix    string
	client    sarama.Client
	admin     sarama.ClusterAdmin
}

func openBroker(e endpoints.Endpoints) (*broker, error) {
	b := &broker{addresses: e.KafkaBrokers, prefix: e.TopicPrefix + "."}
	var err error
	if b.client, err = sarama.NewClient(b.addresses, settings()); err != nil {
		return nil, err
	}
	b.admin, err = sarama.NewClusterAdminFromClient(b.client)
	return b, err
}

func settings() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.V3_6_0_0
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	return c
}

func (b *broker) close() error { return b.client.Close() }

// each calls visit with every partition of the change topics and the number of events that it holds.
func (b *broker) each(visit func(table string, partition int32, events int64) error) error {
	for _, table := range tables() {
		partitions, err := b.client.Partitions(b.prefix + table)
		if err != nil {
			return err
		}
		for _, p := range partitions {
			end, err := b.client.GetOffset(b.prefix+table, p, sarama.OffsetNewest)
			if err != nil {
				return err
			}
			if err := visit(table, p, end); err != nil {
				return err
			}
		}
	}
	return nil
}

// counts returns the number of events by table.
func (b *broker) counts() (map[string]int64, error) {
	counts := map[string]int64{}
	return counts, b.each(func(table string, _ int32, events int64) error {
		counts[table] += events
		return nil
	})
}

// waiting returns how many events a group has not committed.
func (b *broker) waiting(group string) (int64, error) {
	asked := map[string][]int32{}
	ends := map[string]map[int32]int64{}
	err := b.each(func(table string, partition int32, events int64) error {
		topic := b.prefix + table
		asked[topic] = append(asked[topic], partition)
		if ends[topic] == nil {
			ends[topic] = map[int32]int64{}
		}
		ends[topic][partition] = events
		return nil
	})
	if err != nil {
		return 0, err
	}
	committed, err := b.admin.ListConsumerGroupOffsets(group, asked)
	if err != nil {
		return 0, err
	}
	var waiting int64
	for topic, partitions := range ends {
		for partition, end := range partitions {
			waiting += end
			if block := committed.GetBlock(topic, partition); block != nil {
				waiting -= max(0, block.Offset)
			}
		}
	}
	return waiting, nil
}

// forget deletes a group with its offsets once its members have left. Members with a static name are removed by name:
// the group would wait for their return.
func (b *broker) forget(ctx context.Context, group string, named ...string) error {
	if len(named) > 0 {
		if _, err := b.admin.RemoveMemberFromConsumerGroup(group, named); err != nil {
			return err
		}
	}
	return await(ctx, "the deletion of the group "+group, time.Minute, func() (bool, error) {
		err := b.admin.DeleteConsumerGroup(group)
		return err == nil || errors.Is(err, sarama.ErrGroupIDNotFound), err
	})
}

// event is one message of a change topic.
type event struct {
	topic string
	value []byte
}

// sample reads one of share events, from the newest of every partition. It reads the partitions concurrently, because
// the client needs half a second to switch to one.
func (b *broker) sample(share int) ([]event, error) {
	consumer, err := sarama.NewConsumerFromClient(b.client)
	if err != nil {
		return nil, err
	}
	defer func() { _ = consumer.Close() }()
	var mu sync.Mutex
	var all []event // guarded by mu
	var readers errgroup.Group
	err = b.each(func(table string, partition int32, events int64) error {
		todo := events / int64(share)
		if todo == 0 {
			return nil
		}
		claim, err := consumer.ConsumePartition(b.prefix+table, partition, events-todo)
		if err != nil {
			return err
		}
		readers.Go(func() error {
			for range todo {
				message := <-claim.Messages()
				mu.Lock()
				all = append(all, event{message.Topic, message.Value})
				mu.Unlock()
			}
			return claim.Close()
		})
		return nil
	})
	err = errors.Join(err, readers.Wait())
	return all, err
}
