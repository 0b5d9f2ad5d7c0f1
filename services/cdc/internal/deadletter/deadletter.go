// Package deadletter owns the two dead-letter topics: what is written there about a record that cannot be processed and
// about a connector task that failed, and how letters are answered later. A letter is never replayed by its payload:
// the row is read again, so that nothing old can come back.
package deadletter

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// Names of headers. The first group is the interface document's, the second is Kafka Connect's, so that its tools read
// our letters.
const (
	HeaderTopic     = "original.topic"
	HeaderPartition = "original.partition"
	HeaderOffset    = "original.offset"
	HeaderError     = "error"
	HeaderClass     = "error-class"
	HeaderSink      = "sink"
	HeaderAttempts  = "attempts"
	HeaderFailedAt  = "first-failed-at"

	connectTopic     = "__connect.errors.topic"
	connectPartition = "__connect.errors.partition"
	connectOffset    = "__connect.errors.offset"
	connectConnector = "__connect.errors.connector.name"
	connectTask      = "__connect.errors.task.id"
	connectStage     = "__connect.errors.stage"
	connectClass     = "__connect.errors.class.name"
	connectException = "__connect.errors.exception.class.name"
	connectMessage   = "__connect.errors.exception.message"
	connectTrace     = "__connect.errors.exception.stacktrace"
)

// Producer writes a record durably.
type Producer interface {
	Produce(ctx context.Context, topic string, r change.Record) error
}

// Letters writes to the dead-letter topics.
type Letters struct {
	Producer   Producer
	Clock      clock.Clock
	Records    string // topic of records that cannot be processed
	Connectors string // topic of failed connector tasks
	Group      string // the consumer group, said as the connector's name
}

// Send writes the record with what is known about its failure. Key and value are the record's own bytes, its headers
// are kept and win over ours, so that the first origin of a letter survives. It returns once the letter is durable; a
// letter may be doubled by a crash behind it.
func (l *Letters) Send(ctx context.Context, r change.Record, result outcome.Result, attempts int) error {
	message := "unknown"
	if result.Err != nil {
		message = result.Err.Error()
	}
	partition, offset := strconv.Itoa(int(r.Partition)), strconv.FormatInt(r.Offset, 10)
	letter := change.Record{Key: r.Key, Value: r.Value, Headers: merge(r.Headers,
		text(HeaderTopic, r.Topic), text(HeaderPartition, partition), text(HeaderOffset, offset),
		text(HeaderError, message), text(HeaderClass, result.Reason), text(HeaderSink, result.Sink),
		text(HeaderAttempts, strconv.Itoa(attempts)), text(HeaderFailedAt, l.now()),
		text(connectTopic, r.Topic), text(connectPartition, partition), text(connectOffset, offset),
		text(connectConnector, l.Group), text(connectTask, partition), text(connectStage, strings.ToUpper(result.Sink)),
		text(connectClass, "cdc"), text(connectException, result.Reason), text(connectMessage, message))}
	if err := l.Producer.Produce(ctx, l.Records, letter); err != nil {
		return fmt.Errorf("dead letter of %s/%d offset %d: %w", r.Topic, r.Partition, r.Offset, err)
	}
	return nil
}

// Record writes that a connector's task failed: trace is what the connector runtime says, offsets its last source
// offsets as JSON.
func (l *Letters) Record(ctx context.Context, connector string, task int, trace, offsets string) error {
	first, _, _ := strings.Cut(trace, "\n")
	exception, message, _ := strings.Cut(first, ": ")
	letter := change.Record{Key: []byte(connector), Value: []byte(offsets), Headers: []change.Header{
		text(connectConnector, connector),
		text(connectTask, strconv.Itoa(task)),
		text(connectStage, "TASK_POLL"),
		text(connectException, exception),
		text(connectMessage, message),
		text(connectTrace, trace),
		text(HeaderFailedAt, l.now()),
	}}
	if err := l.Producer.Produce(ctx, l.Connectors, letter); err != nil {
		return fmt.Errorf("letter about connector %s: %w", connector, err)
	}
	return nil
}

func (l *Letters) now() string { return l.Clock.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

func text(key, value string) change.Header { return change.Header{Key: key, Value: []byte(value)} }

// merge adds the headers that the record does not have yet.
func merge(own []change.Header, ours ...change.Header) []change.Header {
	merged := slices.Clone(own)
	for _, h := range ours {
		if !slices.ContainsFunc(own, func(o change.Header) bool { return o.Key == h.Key }) {
			merged = append(merged, h)
		}
	}
	return merged
}
