package broker

import (
	"context"
	"fmt"

	"github.com/IBM/sarama"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
)

// Read visits every record that the topic holds at the start of the call, partition by partition and in order, outside
// any group: nothing is committed, and records that arrive meanwhile are not read. total is how many there are at most;
// compacted or deleted ones leave gaps.
func Read(ctx context.Context, cfg Config, topic string, visit func(r change.Record, total int64) error) error {
	settings, err := cfg.client("cdc-reader")
	if err != nil {
		return err
	}
	client, err := sarama.NewClient(cfg.Brokers, settings)
	if err != nil {
		return fmt.Errorf("reach the brokers: %w", err)
	}
	defer func() { _ = client.Close() }()
	ranges, total, err := extents(client, topic)
	if err != nil {
		return err
	}
	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return fmt.Errorf("open reader: %w", err)
	}
	defer func() { _ = consumer.Close() }()
	for _, e := range ranges {
		if err := readPartition(ctx, consumer, topic, e, func(r change.Record) error { return visit(r, total) }); err != nil {
			return err
		}
	}
	return nil
}

// extent is what one partition holds: offsets from first to before end.
type extent struct {
	partition  int32
	first, end int64
}

func extents(client sarama.Client, topic string) (all []extent, total int64, err error) {
	partitions, err := client.Partitions(topic)
	if err != nil {
		return nil, 0, fmt.Errorf("partitions of %s: %w", topic, err)
	}
	for _, p := range partitions {
		first, err := client.GetOffset(topic, p, sarama.OffsetOldest)
		if err != nil {
			return nil, 0, fmt.Errorf("first offset of %s/%d: %w", topic, p, err)
		}
		end, err := client.GetOffset(topic, p, sarama.OffsetNewest)
		if err != nil {
			return nil, 0, fmt.Errorf("last offset of %s/%d: %w", topic, p, err)
		}
		if end > first {
			all, total = append(all, extent{p, first, end}), total+end-first
		}
	}
	return all, total, nil
}

func readPartition(
	ctx context.Context, consumer sarama.Consumer, topic string, e extent, visit func(change.Record) error,
) error {
	partition, err := consumer.ConsumePartition(topic, e.partition, e.first)
	if err != nil {
		return fmt.Errorf("read %s/%d: %w", topic, e.partition, err)
	}
	defer func() { _ = partition.Close() }()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case message, ok := <-partition.Messages():
			if !ok || message.Offset >= e.end {
				return nil
			}
			if err := visit(record(message)); err != nil {
				return err
			}
			if message.Offset == e.end-1 {
				return nil
			}
		}
	}
}
