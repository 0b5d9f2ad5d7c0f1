package delivery_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/delivery"
)

// callout keeps what it was asked, and answers with err.
type callout struct {
	got []*calloutv1.EvaluateReportsRequest
	err error
}

func (c *callout) EvaluateReports(_ context.Context, in *calloutv1.EvaluateReportsRequest, _ ...grpc.CallOption) (*calloutv1.EvaluateReportsResponse, error) {
	c.got = append(c.got, in)
	return &calloutv1.EvaluateReportsResponse{}, c.err
}

type hand struct{ past atomic.Int64 }

func (h *hand) Now() time.Time { return time.Unix(1_800_000_000, h.past.Load()) }

func evaluation(t *testing.T) outbox.Row {
	t.Helper()
	scope, err := authn.Principal{Kind: authn.Service}.Scope(12)
	if err != nil {
		t.Fatal(err)
	}
	e, err := delivery.Evaluations{}.Evaluation(scope, 7001, 5)
	if err != nil || e.DedupeKey != "evaluate:7001:5" || e.Aggregate == "report:7001" {
		t.Fatalf("%+v %v", e, err)
	}
	return outbox.Row{ID: 1, Aggregate: e.Aggregate, Kind: e.Kind, Payload: e.Payload}
}

func TestAChangedReportIsEvaluated(t *testing.T) {
	t.Parallel()
	c := &callout{}
	courier := delivery.Courier{Evaluator: &delivery.Evaluator{Client: c, Clock: &hand{}}}
	if err := courier.Deliver(t.Context(), evaluation(t)); err != nil {
		t.Fatal(err)
	}
	if len(c.got) != 1 || c.got[0].GetLabId() != 12 || len(c.got[0].GetReportIds()) != 1 || c.got[0].GetReportIds()[0] != 7001 {
		t.Fatalf("%v", c.got)
	}
}

func TestWhatTheCalloutRefusesIsParkedAndWhatItMissesWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		parked bool
	}{
		"refused":      {apperr.New(apperr.Invalid, "X", "x"), true},
		"gone":         {apperr.New(apperr.NotFound, "X", "x"), true},
		"away":         {apperr.New(apperr.Unavailable, "X", "x"), false},
		"not deployed": {apperr.New(apperr.Unimplemented, "X", "x"), false},
		"another key":  {apperr.New(apperr.Unauthenticated, "X", "x"), false},
		"broken":       {errors.New("x"), false},
	} {
		courier := delivery.Courier{Evaluator: &delivery.Evaluator{Client: &callout{err: c.err}, Clock: &hand{}}}
		if err := courier.Deliver(t.Context(), evaluation(t)); err == nil || outbox.IsUndeliverable(err) != c.parked {
			t.Errorf("%s: %v", name, err)
		}
	}
	courier := delivery.Courier{Evaluator: &delivery.Evaluator{Clock: &hand{}}}
	if err := courier.Deliver(t.Context(), evaluation(t)); err == nil || outbox.IsUndeliverable(err) {
		t.Errorf("without a callout: %v", err)
	}
}

func TestAnAbsentCalloutIsNotAskedForEveryRow(t *testing.T) {
	t.Parallel()
	c, clock := &callout{err: apperr.New(apperr.Unavailable, "X", "x")}, &hand{}
	courier := delivery.Courier{Evaluator: &delivery.Evaluator{Client: c, Clock: clock}}
	for range 5 {
		if err := courier.Deliver(t.Context(), evaluation(t)); err == nil {
			t.Fatal("delivered")
		}
	}
	if len(c.got) != 1 {
		t.Fatalf("asked %d times", len(c.got))
	}
	clock.past.Add(int64(15 * time.Second))
	c.err = nil
	if err := courier.Deliver(t.Context(), evaluation(t)); err != nil || len(c.got) != 2 {
		t.Fatalf("%v, asked %d times", err, len(c.got))
	}
}
