package broker

import (
	"context"

	"github.com/IBM/sarama"

	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/consume"
)

// member starts a Consumer claim for each assigned partition.
type member struct {
	g     *Group
	group sarama.ConsumerGroup
	leave func() // ends the membership, so that the process joins again
}

var _ sarama.ConsumerGroupHandler = (*member)(nil)

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.g.joined(true)
	m.g.Log.Info("joined the consumer group", "group", m.g.Config.Group)
	go m.check(session)
	return nil
}

// check leaves the group if assigned partitions are not being read some time after joining. Otherwise no process would
// report their lag.
func (m *member) check(session sarama.ConsumerGroupSession) {
	if lifecycle.Pause(session.Context(), startPatience) != nil {
		return
	}
	given := 0
	for _, partitions := range session.Claims() {
		given += len(partitions)
	}
	if read := m.g.State().Claims; read < given {
		m.g.Log.Warn("partitions are without work; this process joins the group again", "given", given, "read", read)
		m.leave()
	}
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error {
	m.g.joined(false)
	return nil
}

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	ctx, cancel := context.WithCancel(session.Context())
	defer cancel()
	m.g.count(1, 0)
	paused := 0
	defer func() { m.g.count(-1, -paused) }()
	if !m.notice(session, claim.Topic(), claim.Partition()) {
		return nil
	}
	this := map[string][]int32{claim.Topic(): {claim.Partition()}}
	defer m.group.Resume(this) // this process may also be the next owner
	m.g.Consumer.Run(ctx, consume.Claim{
		Topic:     claim.Topic(),
		Partition: claim.Partition(),
		Initial:   claim.InitialOffset(),
		Records:   records(ctx, claim.Messages()),
		Mark:      func(offset int64) { session.MarkOffset(claim.Topic(), claim.Partition(), offset, stamp) },
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

// records converts messages to records until messages is closed or ctx ends.
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
