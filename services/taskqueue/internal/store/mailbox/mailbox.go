// Package mailbox stores the last messages of every channel for development in the queue's Redis for a day, rendered as
// a provider would receive them. The messages contain patient data: in production the mailbox is rejected unless an
// operator allows it.
package mailbox

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Limits of the stored messages.
const (
	MaxMessages = 1000
	Keep        = 24 * time.Hour
	storeKey    = "tq:outbox"
)

// Header is one header of a message. Headers are in display order.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Message is one delivery as it was sent, or as it would have been sent.
type Message struct {
	JobID      string   `json:"job_id"`
	Channel    string   `json:"channel"`
	Kind       string   `json:"kind"`
	LabID      int64    `json:"lab_id"`
	Attempt    int      `json:"attempt"`
	AtMs       int64    `json:"at_ms"`
	To         []string `json:"to"`
	Title      string   `json:"title"`
	Body       string   `json:"body"`
	Format     string   `json:"format"` // text, html or json
	Raw        string   `json:"raw,omitempty"`
	Headers    []Header `json:"headers,omitempty"`
	Signature  string   `json:"signature,omitempty"`
	Curl       string   `json:"curl,omitempty"`
	Outcome    string   `json:"outcome"`
	HTTPStatus int      `json:"http_status,omitempty"`
	Notes      []string `json:"notes,omitempty"` // segments, encoding, attachments
}

// Of returns m with the job, time and outcome of a delivery that ended with err.
func (m Message) Of(d worker.Delivery, at time.Time, err error) Message {
	m.JobID, m.Channel, m.Kind = string(d.ID), d.ID.Lane().Channel.String(), task.Name(d.Body.Task, d.Body.TaskType)
	m.LabID, m.Attempt, m.AtMs, m.Outcome = d.Body.LabID, d.Attempt, at.UnixMilli(), "delivered"
	if err != nil {
		m.Outcome = job.AsFailure(err).Message
	}
	return m
}

// isFor reports whether the message is of the channel and to is part of one of its recipients. An empty argument
// matches every message.
func (m *Message) isFor(to, channel string) bool {
	if channel != "" && !strings.EqualFold(channel, m.Channel) {
		return false
	}
	to = strings.ToLower(to)
	return to == "" ||
		slices.ContainsFunc(m.To, func(one string) bool { return strings.Contains(strings.ToLower(one), to) })
}

const (
	recordBuffer = 1024
	recordBatch  = 100
)

// Store stores messages in Redis. It is safe for concurrent use.
type Store struct {
	rdb      redis.UniversalClient
	clock    clock.Clock
	log      *slog.Logger
	recorded chan *Message // recorded messages that are not written yet
}

// NewStore returns a store. The caller closes the client. Run writes the messages passed to Record.
func NewStore(rdb redis.UniversalClient, clk clock.Clock, log *slog.Logger) *Store {
	return &Store{rdb: rdb, clock: clk, log: log, recorded: make(chan *Message, recordBuffer)}
}

// Add stores messages, the last one as the newest.
func (s *Store) Add(ctx context.Context, list ...Message) error {
	values := make([]any, 0, len(list))
	for i := range list {
		raw, err := json.Marshal(&list[i])
		if err != nil {
			return fmt.Errorf("encode mailbox message: %w", err)
		}
		values = append(values, raw)
	}
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.LPush(ctx, storeKey, values...)
		p.LTrim(ctx, storeKey, 0, MaxMessages-1)
		p.Expire(ctx, storeKey, Keep)
		return nil
	})
	if err != nil {
		return fmt.Errorf("keep mailbox messages: %w", err)
	}
	return nil
}

// List returns the messages of the last day, newest first. If to or channel is not empty, only messages of that
// recipient or channel are returned.
func (s *Store) List(ctx context.Context, to, channel string) ([]Message, error) {
	values, err := s.rdb.LRange(ctx, storeKey, 0, MaxMessages-1).Result()
	if err != nil {
		return nil, fmt.Errorf("list mailbox messages: %w", err)
	}
	oldest := s.clock.Now().Add(-Keep).UnixMilli()
	list := make([]Message, 0, len(values))
	for _, raw := range values {
		var m Message
		if json.Unmarshal([]byte(raw), &m) != nil || m.AtMs < oldest || !m.isFor(to, channel) {
			continue
		}
		list = append(list, m)
	}
	return list, nil
}

// Clear deletes all messages.
func (s *Store) Clear(ctx context.Context) error {
	if err := s.rdb.Del(ctx, storeKey).Err(); err != nil {
		return fmt.Errorf("clear the mailbox: %w", err)
	}
	return nil
}

// Record queues a copy of a webhook for Run. It never blocks, so that it does not slow deliveries. If the buffer is
// full, the copy is dropped.
func (s *Store) Record(m Message) {
	select {
	case s.recorded <- &m:
	default:
	}
}

// Run writes recorded messages until ctx ends, then the remaining ones. A message taken from the buffer is written even
// if ctx ends meanwhile.
func (s *Store) Run(ctx context.Context) error {
	lasting := context.WithoutCancel(ctx)
	for {
		select {
		case m := <-s.recorded:
			s.write(lasting, m)
		case <-ctx.Done():
			for len(s.recorded) > 0 {
				s.write(lasting, <-s.recorded)
			}
			return nil
		}
	}
}

// write stores a message together with all messages recorded during the previous write.
func (s *Store) write(ctx context.Context, first *Message) {
	batch := []Message{*first}
	for len(s.recorded) > 0 && len(batch) < recordBatch {
		batch = append(batch, *<-s.recorded)
	}
	if err := s.Add(ctx, batch...); err != nil {
		s.log.WarnContext(ctx, "webhooks were not recorded in the mailbox", "messages", len(batch), "error", err)
	}
}
