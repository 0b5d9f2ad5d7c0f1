package delivery

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/outbox"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
)

// TaskQueue is the part of the task queue's client that the package uses.
type TaskQueue interface {
	Enqueue(
		ctx context.Context, in *taskqueuev1.EnqueueRequest, opts ...grpc.CallOption,
	) (*taskqueuev1.EnqueueResponse, error)
}

// Callout is the part of the callout service's client that the package uses.
type Callout interface {
	EvaluateReports(
		ctx context.Context, in *calloutv1.EvaluateReportsRequest, opts ...grpc.CallOption,
	) (*calloutv1.EvaluateReportsResponse, error)
	SetUnconfirmedValues(
		ctx context.Context, in *calloutv1.SetUnconfirmedValuesRequest, opts ...grpc.CallOption,
	) (*calloutv1.SetUnconfirmedValuesResponse, error)
}

// Dispatcher delivers outbox rows to their receivers. Table is the name of the outbox, a part of every row's key.
// Callout may be nil; its messages then wait until its address is configured.
type Dispatcher struct {
	Table     string
	TaskQueue TaskQueue
	Callout   Callout
}

// Receivers returns the delivery function of each kind of row.
func (d Dispatcher) Receivers() map[string]outbox.Deliver {
	return map[string]outbox.Deliver{kindEnqueue: d.enqueue, kindEvaluate: d.evaluate, kindUnconfirmed: d.announce}
}

func (d Dispatcher) enqueue(ctx context.Context, row outbox.Row) error {
	var in taskqueuev1.EnqueueRequest
	if err := proto.Unmarshal(row.Payload, &in); err != nil {
		return errPayload
	}
	// The receiver recognizes a repetition by the key, which is the same for every attempt to deliver this row.
	in.IdempotencyKey = proto.String(row.Key(d.Table))
	if _, err := d.TaskQueue.Enqueue(ctx, &in); err != nil {
		return outbox.Classify(fmt.Errorf("enqueue: %w", err))
	}
	return nil
}

var (
	errPayload   = outbox.Undeliverable(errors.New("the payload is not the message of its kind"))
	errNoCallout = outbox.ReceiverUnavailable(errors.New("RERUN_CALLOUT_ADDR is not set"))
)

// evaluate requests an evaluation. It may be repeated, because the callout service judges the report as it is then.
func (d Dispatcher) evaluate(ctx context.Context, row outbox.Row) error {
	var in calloutv1.EvaluateReportsRequest
	if err := proto.Unmarshal(row.Payload, &in); err != nil {
		return errPayload
	}
	if d.Callout == nil {
		return errNoCallout
	}
	if _, err := d.Callout.EvaluateReports(ctx, &in); err != nil {
		return outbox.Classify(fmt.Errorf("evaluate report: %w", err))
	}
	return nil
}

// announce sends unconfirmed values. It may be repeated and reordered, because the callout service keeps the values
// with the newest as_of.
func (d Dispatcher) announce(ctx context.Context, row outbox.Row) error {
	var in calloutv1.SetUnconfirmedValuesRequest
	if err := proto.Unmarshal(row.Payload, &in); err != nil {
		return errPayload
	}
	if d.Callout == nil {
		return errNoCallout
	}
	if _, err := d.Callout.SetUnconfirmedValues(ctx, &in); err != nil {
		return outbox.Classify(fmt.Errorf("set unconfirmed values: %w", err))
	}
	return nil
}
