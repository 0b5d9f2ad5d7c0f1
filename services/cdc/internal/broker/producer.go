package broker

import (
	"context"
	"fmt"

	"github.com/IBM/sarama"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
)

// Producer writes records durably. It connects on the first write, so that the process can start while brokers are
// unavailable.
type Producer struct {
	cfg  Config
	open chan sarama.SyncProducer // holds the producer, or nil before it is connected
}

// NewProducer returns a producer for cfg's brokers.
func NewProducer(cfg Config) *Producer {
	p := &Producer{cfg: cfg, open: make(chan sarama.SyncProducer, 1)}
	p.open <- nil
	return p
}

// Produce returns after all in-sync replicas have stored the record. A record without a key may go to any partition.
func (p *Producer) Produce(ctx context.Context, topic string, r change.Record) error {
	producer, err := p.take(ctx)
	if err != nil {
		return err
	}
	defer func() { p.open <- producer }()
	message := &sarama.ProducerMessage{Topic: topic, Value: sarama.ByteEncoder(r.Value)}
	if r.Key != nil {
		message.Key = sarama.ByteEncoder(r.Key)
	}
	if r.Value == nil {
		message.Value = nil
	}
	for _, h := range r.Headers {
		message.Headers = append(message.Headers, sarama.RecordHeader{Key: []byte(h.Key), Value: h.Value})
	}
	if _, _, err := producer.SendMessage(message); err != nil {
		return fmt.Errorf("produce to %s: %w", topic, err)
	}
	return nil
}

func (p *Producer) take(ctx context.Context) (sarama.SyncProducer, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case producer := <-p.open:
		if producer != nil {
			return producer, nil
		}
	}
	settings, err := p.cfg.producer()
	if err != nil {
		p.open <- nil
		return nil, err
	}
	producer, err := sarama.NewSyncProducer(p.cfg.Brokers, settings)
	if err != nil {
		p.open <- nil
		return nil, fmt.Errorf("reach the brokers: %w", err)
	}
	return producer, nil
}

func (p *Producer) Close(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case producer := <-p.open:
		p.open <- nil
		if producer == nil {
			return nil
		}
		return producer.Close()
	}
}
