package delivery_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/outbox"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/delivery"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

type queue struct {
	got *taskqueuev1.EnqueueRequest
	err error
}

func (q *queue) Enqueue(_ context.Context, in *taskqueuev1.EnqueueRequest, _ ...grpc.CallOption) (*taskqueuev1.EnqueueResponse, error) {
	q.got = in
	return &taskqueuev1.EnqueueResponse{Code: 200}, q.err
}

func row(t *testing.T, kind string) outbox.Row {
	t.Helper()
	payload, err := proto.Marshal(&taskqueuev1.EnqueueRequest{LabId: proto.Int64(12), Tasks: []*taskqueuev1.Task{{Task: 4}}})
	if err != nil {
		t.Fatal(err)
	}
	return outbox.Row{ID: 7, Kind: kind, Payload: payload, CreatedAt: time.UnixMilli(1_800_000_000_000)}
}

func TestTheKeyOfARepetitionIsTheSame(t *testing.T) {
	t.Parallel()
	q := &queue{}
	if err := (delivery.Courier{TaskQueue: q}).Deliver(t.Context(), row(t, "taskqueue.enqueue")); err != nil {
		t.Fatal(err)
	}
	if q.got.GetIdempotencyKey() != "outbox_rerun-7-1800000000000" || q.got.GetLabId() != 12 || len(q.got.GetTasks()) != 1 {
		t.Fatalf("%v", q.got)
	}
}

func TestWhatIsRefusedForGoodIsParkedAndTheRestIsTriedAgain(t *testing.T) {
	t.Parallel()
	for kind, parked := range map[apperr.Kind]bool{
		apperr.Invalid: true, apperr.NotFound: true, apperr.Conflict: true, apperr.Forbidden: true, apperr.Unimplemented: true, apperr.TooLarge: true,
		apperr.Unavailable: false, apperr.Internal: false, apperr.DeadlineExceeded: false, apperr.TooManyRequests: false, apperr.Unauthenticated: false,
	} {
		err := delivery.Courier{TaskQueue: &queue{err: apperr.New(kind, "X", "x")}}.Deliver(t.Context(), row(t, "taskqueue.enqueue"))
		if err == nil || outbox.IsUndeliverable(err) != parked {
			t.Errorf("kind %d: %v, want parked %v", kind, err, parked)
		}
	}
	for _, r := range []outbox.Row{row(t, "unknown"), {Kind: "taskqueue.enqueue", Payload: []byte{0xff}}} {
		if err := (delivery.Courier{TaskQueue: &queue{}}).Deliver(t.Context(), r); !outbox.IsUndeliverable(err) {
			t.Errorf("%q: %v", r.Kind, err)
		}
	}
}

func TestWithoutChangeCaptureSyncingDoesNothing(t *testing.T) {
	t.Parallel()
	if err := (delivery.Index{}).SyncUser(t.Context(), storetest.Scope(t, 12), 1); err != nil {
		t.Fatal(err)
	}
}
