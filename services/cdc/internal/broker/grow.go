package broker

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/IBM/sarama"
)

// Grow increases the number of partitions of every data topic, and prints its steps to out. Keys then move to other
// partitions, so the changes of a row may be processed out of order. That is harmless, because rows are computed from
// their sources and documents have versions. Partitions are never removed. It is idempotent.
func Grow(ctx context.Context, cfg Config, topics TopicConfig, partitions int32, out io.Writer) error {
	admin, err := cfg.admin("cdc-grow")
	if err != nil {
		return err
	}
	defer func() { _ = admin.Close() }()
	existing, err := admin.ListTopics()
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	if err := growable(existing, topics.Consumed(), partitions); err != nil {
		return err
	}
	for _, topic := range topics.Consumed() {
		if err := ctx.Err(); err != nil {
			return err
		}
		have := existing[topic].NumPartitions
		if have == partitions {
			fmt.Fprintf(out, "%s: has %d partitions\n", topic, have)
			continue
		}
		err := admin.CreatePartitions(topic, partitions, nil, false)
		if errors.Is(err, sarama.ErrInvalidPartitions) { // another process created them first: the topic has at least as many
			fmt.Fprintf(out, "%s: grew a moment ago\n", topic)
			continue
		}
		if err != nil {
			return fmt.Errorf("grow %s: %w", topic, err)
		}
		fmt.Fprintf(out, "%s: %d partitions, were %d\n", topic, partitions, have)
	}
	return nil
}

// growable returns an error if a topic is missing or already has more partitions. It is called before any topic is
// changed.
func growable(existing map[string]sarama.TopicDetail, topics []string, partitions int32) error {
	for _, topic := range topics {
		have, ok := existing[topic]
		if !ok {
			return fmt.Errorf("topic %s is missing: run cdc migrate", topic)
		}
		if have.NumPartitions > partitions {
			return fmt.Errorf("topic %s has %d partitions: they cannot be taken away", topic, have.NumPartitions)
		}
	}
	return nil
}
