package delivery

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/outbox"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
)

// kindEvaluate marks rows whose payload is a calloutv1.EvaluateReportsRequest.
const kindEvaluate = "callout.evaluate"

// Evaluations makes orders to judge changed reports again.
type Evaluations struct{}

// Evaluation implements closing.Messages. Its rows have an aggregate of their own: while nobody takes them, the
// automatic reruns of the same report go on.
func (Evaluations) Evaluation(scope authn.LabScope, reportID, logID int64) (outbox.Event, error) {
	payload, err := proto.Marshal(&calloutv1.EvaluateReportsRequest{LabId: scope.LabID(), ReportIds: []int64{reportID}})
	if err != nil {
		return outbox.Event{}, fmt.Errorf("encode evaluation: %w", err)
	}
	id := strconv.FormatInt(reportID, 10)
	return outbox.Event{
		Aggregate: "callout:" + id, Kind: kindEvaluate, Payload: payload, DedupeKey: "evaluate:" + id + ":" + strconv.FormatInt(logID, 10),
	}, nil
}

// Callout is the part of the callout's client that is used.
type Callout interface {
	EvaluateReports(ctx context.Context, in *calloutv1.EvaluateReportsRequest, opts ...grpc.CallOption) (*calloutv1.EvaluateReportsResponse, error)
}

// How long one evaluation may take, and how long the others are held back when the callout does not answer: they
// share the relay with the automatic reruns, which must not wait for it.
const (
	evaluateTimeout = 3 * time.Second
	evaluatePause   = 15 * time.Second
)

var errNoCallout = errors.New("the callout is not there: RERUN_CALLOUT_ADDR is not set, or it did not answer a moment ago")

// Evaluator delivers evaluations. Client may be nil: then they wait for a deployment that has a callout.
type Evaluator struct {
	Client Callout
	Clock  clock.Clock

	mu      sync.Mutex
	resumes time.Time // guarded by mu: nothing is tried before
}

func (e *Evaluator) deliver(ctx context.Context, row outbox.Row) error {
	var in calloutv1.EvaluateReportsRequest
	if err := proto.Unmarshal(row.Payload, &in); err != nil {
		return outbox.Undeliverable(fmt.Errorf("read payload: %w", err))
	}
	if e.Client == nil || e.held() {
		return errNoCallout
	}
	ctx, cancel := context.WithTimeout(ctx, evaluateTimeout)
	defer cancel()
	_, err := e.Client.EvaluateReports(ctx, &in)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("evaluate report: %w", err)
	switch apperr.KindOf(err) {
	case apperr.Invalid, apperr.NotFound, apperr.Conflict, apperr.TooLarge:
		return outbox.Undeliverable(err)
	}
	e.hold()
	return err
}

func (e *Evaluator) held() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.Clock.Now().Before(e.resumes)
}

func (e *Evaluator) hold() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.resumes = e.Clock.Now().Add(evaluatePause)
}
