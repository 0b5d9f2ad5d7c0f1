package broker

import (
	"context"
	"fmt"

	"github.com/IBM/sarama"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/heartbeat"
)

// Read calls visit for every record in the topic at the time of the call, partition by partition in order. It uses no
// group and commits nothing. total is an upper bound of the number of records, because compaction and deletion leave
// gaps.
func Read(ctx context.Context, cfg Config, topic string, visit func(r change.Record, total int64) error) error {
	settings, err := cfg.client("cdc-reader")
	if err != nil {
		return err
	}
	positions := NewPositions(cfg)
	defer func() { _ = positions.Close(ctx) }()
	extents, err := positions.Extents(ctx, []string{topic})
	if err != nil {
		return err
	}
	total := int64(0)
	for _, e := range extents {
		total += e.End - e.Start
	}
	consumer, err := sarama.NewConsumer(cfg.Brokers, settings)
	if err != nil {
		return fmt.Errorf("open reader: %w", err)
	}
	defer func() { _ = consumer.Close() }()
	each := func(r change.Record) error { return visit(r, total) }
	for p := range int32(len(extents)) {
		e := extents[heartbeat.Partition{Topic: topic, ID: p}]
		if e.Start == e.End {
			continue
		}
		if err := readPartition(ctx, consumer, topic, p, e, each); err != nil {
			return err
		}
	}
	return nil
}

func readPartition(
	ctx context.Context, consumer sarama.Consumer, topic string, p int32, e heartbeat.Extent,
	visit func(change.Record) error,
) error {
	partition, err := consumer.ConsumePartition(topic, p, e.Start)
	if err != nil {
		return fmt.Errorf("read %s/%d: %w", topic, p, err)
	}
	defer func() { _ = partition.Close() }()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case message, ok := <-partition.Messages():
			if !ok || message.Offset >= e.End {
				return nil
			}
			if err := visit(record(message)); err != nil {
				return err
			}
			if message.Offset == e.End-1 {
				return nil
			}
		}
	}
}
