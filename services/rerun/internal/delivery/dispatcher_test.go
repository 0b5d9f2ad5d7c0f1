package delivery_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/delivery"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// receivers is a fake of the receivers. It records the requests and returns err.
type receivers struct {
	task       *taskqueuev1.EnqueueRequest
	evaluation *calloutv1.EvaluateReportsRequest
	values     *calloutv1.SetUnconfirmedValuesRequest
	err        error
}

func (r *receivers) Enqueue(
	_ context.Context, in *taskqueuev1.EnqueueRequest, _ ...grpc.CallOption,
) (*taskqueuev1.EnqueueResponse, error) {
	r.task = in
	return &taskqueuev1.EnqueueResponse{Code: 200}, r.err
}

func (r *receivers) EvaluateReports(
	_ context.Context, in *calloutv1.EvaluateReportsRequest, _ ...grpc.CallOption,
) (*calloutv1.EvaluateReportsResponse, error) {
	r.evaluation = in
	return &calloutv1.EvaluateReportsResponse{}, r.err
}

func (r *receivers) SetUnconfirmedValues(
	_ context.Context, in *calloutv1.SetUnconfirmedValuesRequest, _ ...grpc.CallOption,
) (*calloutv1.SetUnconfirmedValuesResponse, error) {
	r.values = in
	return &calloutv1.SetUnconfirmedValuesResponse{}, r.err
}

func (r *receivers) deliver(ctx context.Context, row outbox.Row) error {
	d := delivery.Dispatcher{Table: "outbox_rerun", TaskQueue: r, Callout: r}
	return d.Receivers()[row.Kind](ctx, row)
}

func scope(t *testing.T) authn.LabScope {
	t.Helper()
	s, err := authn.Principal{Kind: authn.Service}.Scope(12)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func order(t *testing.T) outbox.Row {
	t.Helper()
	payload, err := proto.Marshal(&taskqueuev1.EnqueueRequest{LabId: proto.Int64(12),
		Tasks: []*taskqueuev1.Task{{Task: 4}}})
	if err != nil {
		t.Fatal(err)
	}
	return outbox.Row{ID: 7, Kind: "taskqueue.enqueue", Payload: payload, CreatedAt: time.UnixMilli(1_800_000_000_000)}
}

func evaluation(t *testing.T) outbox.Row {
	t.Helper()
	e, err := delivery.Messages{}.Evaluation(scope(t), 7001, 5)
	if err != nil || e.DedupeKey != "evaluate:7001:5" || e.Aggregate != "report:7001" {
		t.Fatalf("unexpected event %+v, %v", e, err)
	}
	return outbox.Row{ID: 1, Aggregate: e.Aggregate, Kind: e.Kind, Payload: e.Payload}
}

func announcement(t *testing.T) outbox.Row {
	t.Helper()
	at := time.UnixMilli(1_800_000_000_000)
	e, err := delivery.Messages{}.Unconfirmed(scope(t), 7001, rerun.Announcement{
		Unconfirmed: rerun.Unconfirmed{AsOf: at, Digest: "d"},
		Values: []rerun.Value{{TestID: 302, TestKnown: true, Index: 8, ParameterName: "ESR", Value: "7", Order: 4, CreatedAt: at},
			{Index: 1, Value: "9.1", CreatedAt: at}}})
	if err != nil || e.DedupeKey != "" || e.Aggregate != "report:7001" {
		t.Fatalf("event %+v, %v; want one of report 7001 without a dedupe key", e, err)
	}
	return outbox.Row{ID: 2, Aggregate: e.Aggregate, Kind: e.Kind, Payload: e.Payload}
}

func TestTheWholeSetOfUnconfirmedValuesIsSent(t *testing.T) {
	t.Parallel()
	r := &receivers{}
	if err := r.deliver(t.Context(), announcement(t)); err != nil {
		t.Fatal(err)
	}
	const micros = 1_800_000_000_000_000
	want := &calloutv1.SetUnconfirmedValuesRequest{LabId: 12, ReportId: 7001, AsOf: micros,
		Values: []*calloutv1.UnconfirmedRerunValue{
			{ProfileTestId: 302, Index: 8, ParameterName: "ESR", Value: "7", Order: 4, ReceivedAt: micros},
			{Index: 1, Value: "9.1", ReceivedAt: micros}}}
	if diff := cmp.Diff(want, r.values, protocmp.Transform()); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

func TestTheKeyOfARepetitionIsTheSame(t *testing.T) {
	t.Parallel()
	r := &receivers{}
	for range 2 {
		if err := r.deliver(t.Context(), order(t)); err != nil {
			t.Fatal(err)
		}
		if r.task.GetIdempotencyKey() != "outbox_rerun-7-1800000000000" || r.task.GetLabId() != 12 ||
			len(r.task.GetTasks()) != 1 {
			t.Fatalf("unexpected task %v", r.task)
		}
	}
}

func TestAChangedReportIsEvaluated(t *testing.T) {
	t.Parallel()
	r := &receivers{}
	if err := r.deliver(t.Context(), evaluation(t)); err != nil {
		t.Fatal(err)
	}
	if ids := r.evaluation.GetReportIds(); r.evaluation.GetLabId() != 12 || len(ids) != 1 || ids[0] != 7001 {
		t.Fatalf("unexpected evaluation %v", r.evaluation)
	}
}

func TestARefusalIsFinalAndAnAbsenceIsNot(t *testing.T) {
	t.Parallel()
	for _, row := range []outbox.Row{order(t), evaluation(t), announcement(t)} {
		if err := (&receivers{err: apperr.New(apperr.Invalid, "X", "x")}).deliver(t.Context(),
			row); !outbox.IsUndeliverable(err) {
			t.Errorf("%s refused: %v", row.Kind, err)
		}
		if err := (&receivers{err: apperr.New(apperr.Unavailable, "X", "x")}).deliver(t.Context(), row); !outbox.IsReceiverUnavailable(err) {
			t.Errorf("%s not there: %v", row.Kind, err)
		}
		err := (&receivers{err: apperr.New(apperr.Unimplemented, "X", "x")}).deliver(t.Context(), row)
		if !outbox.IsReceiverUnavailable(err) {
			t.Errorf("%s, which the receiver does not implement yet: %v, want an unavailable receiver", row.Kind, err)
		}
		row.Payload = []byte{0xff}
		if err := (&receivers{}).deliver(t.Context(), row); !outbox.IsUndeliverable(err) {
			t.Errorf("%s with another payload: %v", row.Kind, err)
		}
	}
}

func TestWithoutACalloutItsMessagesWait(t *testing.T) {
	t.Parallel()
	for _, row := range []outbox.Row{evaluation(t), announcement(t)} {
		if err := (delivery.Dispatcher{}).Receivers()[row.Kind](t.Context(), row); !outbox.IsReceiverUnavailable(err) {
			t.Errorf("%s: %v, want an unavailable receiver", row.Kind, err)
		}
	}
}

func TestWithoutChangeCaptureSyncingDoesNothing(t *testing.T) {
	t.Parallel()
	if err := (delivery.Index{}).SyncUser(t.Context(), scope(t), 1); err != nil {
		t.Fatal(err)
	}
}
