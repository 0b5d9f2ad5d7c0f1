package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/IBM/sarama"

	"github.com/labplatform/labplatform/services/cdc/internal/heartbeat"
)

// Positions reads the first and next offsets of partitions and the group's committed offsets from the brokers. It
// connects on the first request and after a failed one. It is safe for concurrent use.
type Positions struct {
	cfg Config

	mu    sync.Mutex
	admin sarama.ClusterAdmin // guarded by mu; nil while not connected
}

var _ heartbeat.Positions = (*Positions)(nil)

// NewPositions returns Positions for cfg's group. The caller closes it.
func NewPositions(cfg Config) *Positions { return &Positions{cfg: cfg} }

// Close ends the connections.
func (p *Positions) Close(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.disconnect()
}

func (p *Positions) disconnect() error {
	if p.admin == nil {
		return nil
	}
	admin := p.admin
	p.admin = nil
	return admin.Close()
}

// ask calls question with a connection, and closes the connection after an error.
func (p *Positions) ask(ctx context.Context, question func(sarama.ClusterAdmin) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := ctx.Err(); err != nil { // ctx may have ended during the wait for mu
		return err
	}
	if p.admin == nil {
		admin, err := p.cfg.admin("cdc-positions")
		if err != nil {
			return err
		}
		p.admin = admin
	}
	if err := question(p.admin); err != nil {
		_ = p.disconnect()
		return err
	}
	return nil
}

func (p *Positions) Extents(ctx context.Context, topics []string) (map[heartbeat.Partition]heartbeat.Extent, error) {
	extents := map[heartbeat.Partition]heartbeat.Extent{}
	err := p.ask(ctx, func(admin sarama.ClusterAdmin) error {
		partitions, err := partitionsOf(admin, topics)
		if err != nil {
			return err
		}
		starts, err := offsets(admin, partitions, sarama.OffsetOldest)
		if err != nil {
			return err
		}
		ends, err := offsets(admin, partitions, sarama.OffsetNewest)
		if err != nil {
			return err
		}
		for partition, end := range ends {
			extents[partition] = heartbeat.Extent{Start: starts[partition], End: end}
		}
		return nil
	})
	return extents, err
}

func (p *Positions) Committed(ctx context.Context, of []heartbeat.Partition) (map[heartbeat.Partition]int64, error) {
	asked := map[string][]int32{}
	for _, partition := range of {
		asked[partition.Topic] = append(asked[partition.Topic], partition.ID)
	}
	committed := map[heartbeat.Partition]int64{}
	err := p.ask(ctx, func(admin sarama.ClusterAdmin) error {
		answer, err := admin.ListConsumerGroupOffsetsBatch(map[string]map[string][]int32{p.cfg.Group: asked})
		if err != nil {
			return fmt.Errorf("offsets of group %s: %w", p.cfg.Group, err)
		}
		group := answer[p.cfg.Group]
		if group == nil || errors.Is(group.Err, sarama.ErrGroupIDNotFound) {
			return nil // the group has not committed yet
		}
		if !errors.Is(group.Err, sarama.ErrNoError) {
			return fmt.Errorf("offsets of group %s: %w", p.cfg.Group, group.Err)
		}
		for topic, blocks := range group.Blocks {
			for id, block := range blocks {
				if !errors.Is(block.Err, sarama.ErrNoError) {
					return fmt.Errorf("offset of group %s in %s/%d: %w", p.cfg.Group, topic, id, block.Err)
				}
				if block.Offset >= 0 {
					committed[heartbeat.Partition{Topic: topic, ID: id}] = block.Offset
				}
			}
		}
		return nil
	})
	return committed, err
}

// partitionsOf returns the partitions of topics. It returns an error if a topic is missing.
func partitionsOf(admin sarama.ClusterAdmin, topics []string) (map[string][]int32, error) {
	described, err := admin.DescribeTopics(topics)
	if err != nil {
		return nil, fmt.Errorf("describe topics: %w", err)
	}
	partitions := map[string][]int32{}
	for _, topic := range described {
		if !errors.Is(topic.Err, sarama.ErrNoError) {
			return nil, fmt.Errorf("describe topic %s: %w", topic.Name, topic.Err)
		}
		for _, partition := range topic.Partitions {
			partitions[topic.Name] = append(partitions[topic.Name], partition.ID)
		}
	}
	return partitions, nil
}

// offsets returns the first or the next offset of each partition.
func offsets(
	admin sarama.ClusterAdmin, partitions map[string][]int32, which int64,
) (map[heartbeat.Partition]int64, error) {
	asked := map[string]map[int32]int64{}
	for topic, ids := range partitions {
		asked[topic] = map[int32]int64{}
		for _, id := range ids {
			asked[topic][id] = which
		}
	}
	answer, err := admin.ListOffsets(asked, nil)
	if err != nil {
		return nil, fmt.Errorf("list offsets: %w", err)
	}
	found := map[heartbeat.Partition]int64{}
	for topic, results := range answer {
		for id, result := range results {
			if result.Err != nil && !errors.Is(result.Err, sarama.ErrNoError) {
				return nil, fmt.Errorf("offset of %s/%d: %w", topic, id, result.Err)
			}
			found[heartbeat.Partition{Topic: topic, ID: id}] = result.Offset
		}
	}
	return found, nil
}
