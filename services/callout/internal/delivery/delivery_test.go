package delivery_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/outbox"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/delivery"
	"github.com/labplatform/labplatform/services/callout/internal/reach"
)

// now is the fake clock's time.
var now = time.Date(2026, 11, 21, 9, 20, 0, 0, time.UTC)

// others is a fake of the called services and of the store.
type others struct {
	err       error
	deadline  callout.Deadline
	off       bool
	tombstone bool     // the notice was withdrawn before
	reasons   []string // outcomes of notices
	withdrawn []*notificationsv1.WithdrawNoticeRequest
	wasRead   bool
	over      bool // all messages are outdated
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
	return &taskqueuev1.CancelJobResponse{Code: 401}, o.err // cancelling an unknown job succeeds
}

func (o *others) Notify(
	_ context.Context, in *notificationsv1.NotifyRequest, _ ...grpc.CallOption,
) (*notificationsv1.NotifyResponse, error) {
	o.notified = append(o.notified, in)
	out := &notificationsv1.NotifyResponse{Success: !o.off && !o.tombstone}
	if o.off {
		out.Unreachable = new(reach.TypeOff)
	}
	return out, o.err
}

func (o *others) Deadline(context.Context, authn.LabScope, int64) (callout.Deadline, error) {
	return o.deadline, nil
}

func (o *others) NoteJob(_ context.Context, _ authn.LabScope, _ int64, id string) error {
	o.deadline.JobID = id
	return nil
}

func (o *others) WithdrawNotice(
	_ context.Context, in *notificationsv1.WithdrawNoticeRequest, _ ...grpc.CallOption,
) (*notificationsv1.WithdrawNoticeResponse, error) {
	o.withdrawn = append(o.withdrawn, in)
	return &notificationsv1.WithdrawNoticeResponse{WasRead: o.wasRead, Found: true}, o.err
}

func (*others) GetReach(
	context.Context, *notificationsv1.GetReachRequest, ...grpc.CallOption,
) (*notificationsv1.GetReachResponse, error) {
	return &notificationsv1.GetReachResponse{Unreachable: "no_device"}, nil
}

func (o *others) ToSend(context.Context, authn.LabScope, callout.Message) (bool, error) {
	return !o.over, nil
}

func (o *others) Delivered(_ context.Context, _ authn.LabScope, _ callout.Message, reason string, _ time.Time) error {
	o.reasons = append(o.reasons, reason)
	return nil
}

func (o *others) dispatcher() delivery.Dispatcher {
	return delivery.Dispatcher{
		Table: "outbox_callout", Notifications: o, Notices: o,
		Jobs: delivery.Jobs{BaseURL: "http://gateway:8091/", Queue: o, Deadlines: o, Clock: clock.Fixed(now)},
	}
}

func deliver(t *testing.T, d delivery.Dispatcher, e outbox.Event, err error) error {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return d.Receivers()[e.Kind](t.Context(), outbox.Row{ID: 5, Kind: e.Kind, Payload: e.Payload, CreatedAt: time.UnixMilli(9)})
}

func TestTheJobIsAlignedWithTheDeadline(t *testing.T) {
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
		t.Fatalf("scheduled %v as job %q, want one task at the deadline", in, o.deadline.JobID)
	}
	o.deadline.DueAt = time.Time{}
	for range 2 { // the second call has nothing to do
		if err := deliver(t, o.dispatcher(), wake, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(o.cancelled) != 1 || o.cancelled[0] != `["job-1"]` || o.deadline.JobID != "" {
		t.Fatalf("cancelled %q, job %q, want one cancelled job and none left", o.cancelled, o.deadline.JobID)
	}
}

func TestADeadlineOfLongAgoIsDueNow(t *testing.T) {
	t.Parallel()
	o := &others{deadline: callout.Deadline{LabID: 12, BillID: 400, DueAt: now.Add(-25 * time.Hour)}}
	wake, err := delivery.Messages{}.Wake(12, 400)
	if err := deliver(t, o.dispatcher(), wake, err); err != nil {
		t.Fatal(err)
	}
	if got := o.scheduled[0].GetTasks()[0].GetSchTime(); got != "2026-11-21T09:20:00" {
		t.Fatalf("a deadline 25 hours ago is scheduled for %s, want now: the queue refuses it otherwise", got)
	}
}

func TestANoticeHasNoPatientData(t *testing.T) {
	t.Parallel()
	o := &others{}
	for _, m := range []callout.Message{
		{Kind: callout.Announce, Audience: callout.Audience{OrgID: 45, DoctorID: 301}, ReportID: 7001, BillID: 400, Key: "notice:1"},
		{Kind: callout.Escalate, ReportID: 7001, BillID: 400, Level: 2, Key: "escalation:2"},
		{Kind: callout.Correct, ReportID: 7001, BillID: 400, Key: "correction:1"},
	} {
		event, err := delivery.Messages{}.Encode(12, m)
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

// TestTwoDoctorsWithoutAnOrganization checks that corrections for two doctors have different deduplication keys.
func TestTwoDoctorsWithoutAnOrganization(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{}
	for _, doctor := range []int64{391, 392} {
		event, err := delivery.Messages{}.Encode(12, callout.Message{
			Kind: callout.Correct, Audience: callout.Audience{DoctorID: doctor}, ReportID: 7001, BillID: 400, Key: "correction:1",
		})
		if err != nil {
			t.Fatal(err)
		}
		keys[event.DedupeKey] = true
	}
	if len(keys) != 2 {
		t.Errorf("the rows have the keys %v, want two", keys)
	}
}

func TestANoticeThatReachesNoOneIsNoted(t *testing.T) {
	t.Parallel()
	o := &others{off: true}
	notice, err := delivery.Messages{}.Encode(12, callout.Message{Kind: callout.Escalate, ReportID: 7001, BillID: 400, Level: 2, Key: "escalation:2"})
	if err := deliver(t, o.dispatcher(), notice, err); err != nil {
		t.Fatal(err)
	}
	if len(o.reasons) != 1 || o.reasons[0] != reach.TypeOff {
		t.Fatalf("reasons %q, want %q", o.reasons, reach.TypeOff)
	}
}

// TestANoticeThatWasWithdrawnMeanwhileIsNotNotedAsSwitchedOff: the withdrawal overtook the notice. Neither the board
// nor the history may say that the laboratory has notifications switched off.
func TestANoticeThatWasWithdrawnMeanwhileIsNotNotedAsSwitchedOff(t *testing.T) {
	t.Parallel()
	o := &others{tombstone: true}
	notice, err := delivery.Messages{}.Encode(12, callout.Message{Kind: callout.Announce, ReportID: 7001, BillID: 400, Key: "notice:1"})
	if err := deliver(t, o.dispatcher(), notice, err); err != nil || len(o.notified) != 1 || len(o.reasons) != 0 {
		t.Fatalf("%v, %d notices, outcomes %q; want one notice and no outcome", err, len(o.notified), o.reasons)
	}
}

// TestAnOutdatedNoticeIsNotSent checks that a notice is not sent if its value was called or corrected while it waited.
func TestAnOutdatedNoticeIsNotSent(t *testing.T) {
	t.Parallel()
	o := &others{over: true}
	notice, err := delivery.Messages{}.Encode(12, callout.Message{Kind: callout.Announce, ReportID: 7001, BillID: 400, Key: "notice:1"})
	if err := deliver(t, o.dispatcher(), notice, err); err != nil || len(o.notified) != 0 {
		t.Fatalf("%v, %d notices, want none", err, len(o.notified))
	}
}

// TestAWithdrawalInformsTheReadersOfTheNotice checks that a correction is sent only to the audiences that read the
// notice.
func TestAWithdrawalInformsTheReadersOfTheNotice(t *testing.T) {
	t.Parallel()
	north, south := callout.Audience{OrgID: 45, DoctorID: 391}, callout.Audience{OrgID: 46, DoctorID: 392}
	m := callout.Message{
		Kind: callout.Withdraw, ReportID: 7001, BillID: 400, Key: "correction:1", Notice: "notice:1", Tell: []callout.Told{{Audience: north}, {Audience: south, Quiet: true}},
	}
	laboratory := 0 // number of corrections to the laboratory
	defer func() {
		if laboratory != 4 {
			t.Errorf("the laboratory was told %d times, want once by each withdrawal and repetition", laboratory)
		}
	}()
	for name, c := range map[string]struct {
		called, partly, read bool
		reason               string
		told                 int
	}{
		"read":               {read: true, reason: "wrong", told: 2},
		"not read":           {reason: "wrong"},
		"read, one value":    {read: true, partly: true, reason: "partly_wrong", told: 2},
		"answered by a call": {read: true, called: true, reason: "called"},
	} {
		o := &others{wasRead: c.read}
		m.Called, m.Partly = c.called, c.partly
		event, err := delivery.Messages{}.Encode(12, m)
		for range 2 { // the relay may repeat a delivery
			if err := deliver(t, o.dispatcher(), event, err); err != nil {
				t.Fatal(err)
			}
		}
		keys := map[string]bool{}
		for _, in := range o.notified {
			keys[in.GetIdempotencyKey()] = true
			if !strings.Contains(string(in.GetContext().GetJson()), `"laboratory":false`) {
				laboratory++
			}
		}
		if got := o.withdrawn[0]; got.GetIdempotencyKey() != "callout:7001:notice:1" || got.GetReason() != c.reason || len(keys) != c.told {
			t.Errorf("%s: %v, told %d, want reason %s and %d told", name, got, len(keys), c.reason, c.told)
		}
	}
}

// TestADeadlineThatMovesBetweenAttemptsHasAnotherKey checks that a job rescheduled after a failed attempt gets another
// idempotency key than the attempt.
func TestADeadlineThatMovesBetweenAttemptsHasAnotherKey(t *testing.T) {
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
		t.Fatalf("both attempts have the key %q, want two keys", first)
	}
}

func TestUnavailableReceiversAreRetried(t *testing.T) {
	t.Parallel()
	o := &others{err: apperr.New(apperr.Unavailable, "DOWN", "down"), deadline: callout.Deadline{JobID: "j"}}
	notice, err := delivery.Messages{}.Encode(12, callout.Message{ReportID: 7001, Key: "notice:1"})
	if err := deliver(t, o.dispatcher(), notice, err); !outbox.IsReceiverUnavailable(err) {
		t.Errorf("notifications are unavailable: %v, want the message to wait", err)
	}
	wake, err := delivery.Messages{}.Wake(12, 400)
	if err := deliver(t, o.dispatcher(), wake, err); !outbox.IsReceiverUnavailable(err) {
		t.Errorf("the task queue is unavailable: %v, want the message to wait", err)
	}
	absent := o.dispatcher()
	absent.Notifications = nil
	if err := deliver(t, absent, notice, nil); !outbox.IsReceiverUnavailable(err) || !strings.Contains(err.Error(), "CALLOUT_NOTIFICATIONS_ADDR") {
		t.Errorf("no address of notifications: %v, want the message to wait", err)
	}
	notice.Payload = []byte("\xff")
	if err := deliver(t, o.dispatcher(), notice, nil); !outbox.IsUndeliverable(err) {
		t.Errorf("a broken payload: %v, want it to be parked", err)
	}
}
