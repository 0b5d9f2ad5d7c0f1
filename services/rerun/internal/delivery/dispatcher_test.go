package delivery_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/delivery"
)

// receivers keep what they were sent, and answer with err.
type receivers struct {
	task       *taskqueuev1.EnqueueRequest
	evaluation *calloutv1.EvaluateReportsRequest
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
	e, err := delivery.Evaluations{}.Evaluation(scope(t), 7001, 5)
	if err != nil || e.DedupeKey != "evaluate:7001:5" || e.Aggregate != "report:7001" {
		t.Fatalf("%+v %v", e, err)
	}
	return outbox.Row{ID: 1, Aggregate: e.Aggregate, Kind: e.Kind, Payload: e.Payload}
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
			t.Fatalf("%v", r.task)
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
		t.Fatalf("%v", r.evaluation)
	}
}

func TestARefusalIsFinalAndAnAbsenceIsNot(t *testing.T) {
	t.Parallel()
	for _, row := range []outbox.Row{order(t), evaluation(t)} {
		if err := (&receivers{err: apperr.New(apperr.Invalid, "X", "x")}).deliver(t.Context(),
			row); !outbox.IsUndeliverable(err) {
			t.Errorf("%s refused: %v", row.Kind, err)
		}
		if err := (&receivers{err: apperr.New(apperr.Unavailable, "X", "x")}).deliver(t.Context(), row); !outbox.IsReceiverUnavailable(err) {
			t.Errorf("%s not there: %v", row.Kind, err)
		}
		row.Payload = []byte{0xff}
		if err := (&receivers{}).deliver(t.Context(), row); !outbox.IsUndeliverable(err) {
			t.Errorf("%s with another payload: %v", row.Kind, err)
		}
	}
}

func TestWithoutACalloutEvaluationsWait(t *testing.T) {
	t.Parallel()
	row := evaluation(t)
	if err := (delivery.Dispatcher{}).Receivers()[row.Kind](t.Context(), row); !outbox.IsReceiverUnavailable(err) {
		t.Fatalf("error = %v", err)
	}
}

func TestWithoutChangeCaptureSyncingDoesNothing(t *testing.T) {
	t.Parallel()
	if err := (delivery.Index{}).SyncUser(t.Context(), scope(t), 1); err != nil {
		t.Fatal(err)
	}
}
