package broker

import (
	"context"

	"github.com/IBM/sarama"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/consume"
)

// member passes claims on.
type member struct {
	g     *Group
	group sarama.ConsumerGroup
}

// Setup implements sarama.ConsumerGroupHandler.
func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.g.joined(session.MemberID())
	m.g.log.Info("joined the consumer group", "group", m.g.cfg.Group)
	return nil
}

// Cleanup implements sarama.ConsumerGroupHandler.
func (m *member) Cleanup(sarama.ConsumerGroupSession) error {
	m.g.joined("")
	return nil
}

// ConsumeClaim implements sarama.ConsumerGroupHandler.
func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	ctx, cancel := context.WithCancel(session.Context())
	defer cancel()
	m.g.count(1, 0)
	paused := 0
	defer func() { m.g.count(-1, -paused) }()
	this := map[string][]int32{claim.Topic(): {claim.Partition()}}
	defer m.group.Resume(this) // the next owner may be this member again
	m.g.consumer.Run(ctx, consume.Claim{
		Topic:     claim.Topic(),
		Partition: claim.Partition(),
		Initial:   claim.InitialOffset(),
		Records:   records(ctx, claim.Messages()),
		Mark:      func(offset int64) { session.MarkOffset(claim.Topic(), claim.Partition(), offset, "") },
		HighWater: claim.HighWaterMarkOffset,
		Pause: func() {
			m.group.Pause(this)
			m.g.count(0, 1-paused)
			paused = 1
		},
		Resume: func() {
			m.group.Resume(this)
			m.g.count(0, -paused)
			paused = 0
		},
	})
	return nil
}

// records converts messages until they end or ctx does.
func records(ctx context.Context, messages <-chan *sarama.ConsumerMessage) <-chan change.Record {
	out := make(chan change.Record)
	go func() {
		defer close(out)
		for message := range messages {
			select {
			case out <- record(message):
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func record(m *sarama.ConsumerMessage) change.Record {
	r := change.Record{
		Topic:     m.Topic,
		Partition: m.Partition,
		Offset:    m.Offset,
		Key:       m.Key,
		Value:     m.Value,
		Timestamp: m.Timestamp,
	}
	for _, h := range m.Headers {
		r.Headers = append(r.Headers, change.Header{Key: string(h.Key), Value: h.Value})
	}
	return r
}
