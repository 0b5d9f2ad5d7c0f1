package delivery_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/delivery"
	"github.com/labplatform/labplatform/services/callout/internal/escalate"
)

// others stand for the services that are called, and for the store of one clock.
type others struct {
	err       error
	deadline  callout.Deadline
	off       bool
	swallowed []escalate.Notice
	scheduled []*taskqueuev1.ScheduleRequest
	cancelled []string
	notified  []*notificationsv1.NotifyRequest
}

func (o *others) Schedule(
	_ context.Context, in *taskqueuev1.ScheduleRequest, _ ...grpc.CallOption,
) (*taskqueuev1.ScheduleResponse, error) {
	o.scheduled = append(o.scheduled, in)
	return &taskqueuev1.ScheduleResponse{JobIds: []string{"job-1"}}, o.err
}

func (o *others) CancelJob(
	_ context.Context, in *taskqueuev1.CancelJobRequest, _ ...grpc.CallOption,
) (*taskqueuev1.CancelJobResponse, error) {
	o.cancelled = append(o.cancelled, string(in.GetJobId().GetJson()))
	return &taskqueuev1.CancelJobResponse{Code: 401}, o.err // unknown jobs are no failure
}

func (o *others) Notify(
	_ context.Context, in *notificationsv1.NotifyRequest, _ ...grpc.CallOption,
) (*notificationsv1.NotifyResponse, error) {
	o.notified = append(o.notified, in)
	return &notificationsv1.NotifyResponse{Success: !o.off}, o.err
}

func (o *others) Deadline(context.Context, authn.LabScope, int64) (callout.Deadline, error) {
	return o.deadline, nil
}

func (o *others) NoteJob(_ context.Context, _ authn.LabScope, _ int64, id string) error {
	o.deadline.JobID = id
	return nil
}

func (o *others) NoticeOff(_ context.Context, _ authn.LabScope, n escalate.Notice) error {
	o.swallowed = append(o.swallowed, n)
	return nil
}

func (o *others) dispatcher() delivery.Dispatcher {
	return delivery.Dispatcher{
		Table: "outbox_callout", Notifications: o, Jobs: delivery.Jobs{BaseURL: "http://gateway:8091/", Queue: o, Deadlines: o}, Swallowed: o,
	}
}

func deliver(t *testing.T, d delivery.Dispatcher, e outbox.Event, err error) error {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return d.Receivers()[e.Kind](t.Context(), outbox.Row{ID: 5, Kind: e.Kind, Payload: e.Payload, CreatedAt: time.UnixMilli(9)})
}

func TestTheJobFollowsTheDeadline(t *testing.T) {
	t.Parallel()
	o := &others{deadline: callout.Deadline{LabID: 12, BillID: 400, DueAt: time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)}}
	wake, err := delivery.Messages{}.Wake(12, 400)
	if err := deliver(t, o.dispatcher(), wake, err); err != nil {
		t.Fatal(err)
	}
	in := o.scheduled[0]
	task := in.GetTasks()[0]
	const data = `{"url":"http://gateway:8091/report/400/critical/evaluate","args":{"lab_id":12},"isBody":1,"timeout":30}`
	if in.GetLabId() != 12 || task.GetSchTime() != "2026-11-21T09:30:00" || task.GetWindowDelay() != "callout_400" || task.GetTask() != 4 ||
		task.GetTaskType() != 2 || task.GetOverrideWindow() != 1 || string(task.GetData().GetJson()) != data ||
		in.GetIdempotencyKey() != "outbox_callout-5-9-1795253400000" || o.deadline.JobID != "job-1" {
		t.Fatalf("%v, job %q", in, o.deadline.JobID)
	}
	o.deadline.DueAt = time.Time{}
	for range 2 { // a repetition finds nothing to do
		if err := deliver(t, o.dispatcher(), wake, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(o.cancelled) != 1 || o.cancelled[0] != `["job-1"]` || o.deadline.JobID != "" {
		t.Fatalf("cancelled %q, job %q", o.cancelled, o.deadline.JobID)
	}
}

func TestANoticeNamesIdsAlone(t *testing.T) {
	t.Parallel()
	o := &others{}
	for _, n := range []escalate.Notice{
		{LabID: 12, OrgID: 45, DoctorID: 301, ReportID: 7001, BillID: 400, Key: "pending:1"},
		{LabID: 12, ReportID: 7001, BillID: 400, Level: 2, Key: "e"},
		{LabID: 12, ReportID: 7001, BillID: 400, Corrected: true, Key: "c"},
	} {
		event, err := delivery.Messages{}.Notice(n)
		if err := deliver(t, o.dispatcher(), event, err); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{
		`{"lab_id":12,"org_id":45,"doctor_id":301,"lrr_id":7001,"bill_id":400,"escalation":0}`,
		`{"lab_id":12,"lrr_id":7001,"bill_id":400,"escalation":2}`,
		`{"lab_id":12,"lrr_id":7001,"bill_id":400,"escalation":0,"corrected":true}`,
	} {
		in := o.notified[i]
		if got := string(in.GetContext().GetJson()); got != want || in.GetGateway() != "fcm" || in.GetNotificationTypeId() != 2 || in.GetIdempotencyKey() == "" {
			t.Errorf("%v", in)
		}
	}
}

func TestANoticeThatNobodyGetsIsNoted(t *testing.T) {
	t.Parallel()
	o := &others{off: true}
	notice, err := delivery.Messages{}.Notice(escalate.Notice{LabID: 12, ReportID: 7001, BillID: 400, Level: 2, Key: "e"})
	if err := deliver(t, o.dispatcher(), notice, err); err != nil {
		t.Fatal(err)
	}
	if len(o.swallowed) != 1 || o.swallowed[0] != (escalate.Notice{LabID: 12, ReportID: 7001, BillID: 400, Level: 2}) {
		t.Fatalf("%+v", o.swallowed)
	}
}

// TestADeadlineMovedBetweenTwoTriesOfARow: the key of the first try must not come with another time.
func TestADeadlineMovedBetweenTwoTriesOfARow(t *testing.T) {
	t.Parallel()
	o := &others{deadline: callout.Deadline{LabID: 12, BillID: 400, DueAt: time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)}}
	wake, err := delivery.Messages{}.Wake(12, 400)
	for range 2 {
		if err := deliver(t, o.dispatcher(), wake, err); err != nil {
			t.Fatal(err)
		}
		o.deadline.DueAt = o.deadline.DueAt.Add(30 * time.Minute)
	}
	if first, second := o.scheduled[0].GetIdempotencyKey(), o.scheduled[1].GetIdempotencyKey(); first == second {
		t.Fatalf("one key %q for two times", first)
	}
}

func TestReceiversThatAreAway(t *testing.T) {
	t.Parallel()
	o := &others{err: apperr.New(apperr.Unavailable, "DOWN", "down"), deadline: callout.Deadline{JobID: "j"}}
	notice, err := delivery.Messages{}.Notice(escalate.Notice{LabID: 12})
	if err := deliver(t, o.dispatcher(), notice, err); !outbox.IsReceiverUnavailable(err) {
		t.Errorf("notifications are down: %v", err)
	}
	wake, err := delivery.Messages{}.Wake(12, 400)
	if err := deliver(t, o.dispatcher(), wake, err); !outbox.IsReceiverUnavailable(err) {
		t.Errorf("the task queue is down: %v", err)
	}
	absent := o.dispatcher()
	absent.Notifications = nil
	if err := deliver(t, absent, notice, nil); !outbox.IsReceiverUnavailable(err) || !strings.Contains(err.Error(), "CALLOUT_NOTIFICATIONS_ADDR") {
		t.Errorf("no notifications: %v", err)
	}
	notice.Payload = []byte("\xff")
	if err := deliver(t, o.dispatcher(), notice, nil); !outbox.IsUndeliverable(err) {
		t.Errorf("a broken payload: %v", err)
	}
}
