// Package deadletter writes and replays dead letters about records that cannot be processed, in one topic, and about
// failed connector tasks, in another. A replay never writes the payload of a letter: it reads the row again, so that no
// outdated state returns.
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

// Names of headers. The first group is from the API document; the second is Kafka Connect's, so that its tools can read
// the letters.
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
	Group      string // consumer group, written in place of a connector name
}

// Send writes the record and the reason of its failure. The record's key, value and headers are kept; existing headers
// win over new ones of the same name, so that a letter keeps its first origin. Send returns after the letter is
// durable. After a crash, a letter may be written twice.
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

// Record writes a letter about a failed connector task. trace is the runtime's error, offsets the connector's last
// source offsets as JSON.
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

// merge returns own with those headers of ours whose names it lacks.
func merge(own []change.Header, ours ...change.Header) []change.Header {
	merged := slices.Clone(own)
	for _, h := range ours {
		if !slices.ContainsFunc(own, func(o change.Header) bool { return o.Key == h.Key }) {
			merged = append(merged, h)
		}
	}
	return merged
}
