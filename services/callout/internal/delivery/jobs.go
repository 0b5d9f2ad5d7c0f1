package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// TaskQueue is the part of the task queue's client used here.
type TaskQueue interface {
	Schedule(
		ctx context.Context,
		in *taskqueuev1.ScheduleRequest,
		opts ...grpc.CallOption,
	) (*taskqueuev1.ScheduleResponse, error)
	CancelJob(
		ctx context.Context,
		in *taskqueuev1.CancelJobRequest,
		opts ...grpc.CallOption,
	) (*taskqueuev1.CancelJobResponse, error)
}

// Deadlines reads the deadlines of bills and stores the ids of their jobs.
type Deadlines interface {
	Deadline(ctx context.Context, scope authn.LabScope, billID int64) (callout.Deadline, error)
	NoteJob(ctx context.Context, scope authn.LabScope, billID int64, jobID string) error
}

// Values defined by the task queue.
const (
	taskWebhook    = 4
	webhookPost    = 2
	webhookRetries = 10
	webhookTimeout = 30 // in seconds
	timeLayout     = "2006-01-02T15:04:05"
	high           = 2
)

// Jobs keeps one task queue job for each bill with a deadline. The job calls this service's EvaluateBill through the
// gateway's internal listener. BaseURL is WEBHOOK_URL.
type Jobs struct {
	BaseURL   string
	Queue     TaskQueue
	Deadlines Deadlines
	Clock     clock.Clock
}

// Align schedules the bill's job for the bill's earliest deadline, or cancels the job if there is no deadline. It is
// idempotent: the window key allows one job per bill. The idempotency key contains the deadline, which may have moved
// after an attempt whose response was lost.
func (j Jobs) Align(ctx context.Context, scope authn.LabScope, billID int64, key string) error {
	d, err := j.Deadlines.Deadline(ctx, scope, billID)
	if err != nil {
		return err
	}
	if !d.DueAt.IsZero() {
		d.DueAt = j.notLongPast(d.DueAt)
		key = fmt.Sprintf("%s-%d", key, d.DueAt.UnixMilli())
		return j.schedule(ctx, scope, []callout.Deadline{d}, key, true)
	}
	if d.JobID == "" {
		return nil
	}
	ids, err := json.Marshal([]string{d.JobID})
	if err != nil {
		return fmt.Errorf("encode job id: %w", err)
	}
	if _, err := j.Queue.CancelJob(ctx, &taskqueuev1.CancelJobRequest{JobId: &typev1.RawJSON{Json: ids}}); err != nil {
		return fmt.Errorf("cancel job: %w", err)
	}
	return j.Deadlines.NoteJob(ctx, scope, billID, "") // an unknown job has already run, or was lost
}

// atOnce is the maximum number of tasks per request to the queue.
const atOnce = 500

// Ensure creates lost jobs. Existing jobs stay unchanged.
func (j Jobs) Ensure(ctx context.Context, scope authn.LabScope, deadlines []callout.Deadline) error {
	for part := range slices.Chunk(deadlines, atOnce) {
		if err := j.schedule(ctx, scope, part, "", false); err != nil {
			return err
		}
	}
	return nil
}

func (j Jobs) schedule(
	ctx context.Context, scope authn.LabScope, deadlines []callout.Deadline, key string, override bool,
) error {
	in := &taskqueuev1.ScheduleRequest{LabId: proto.Int64(scope.LabID())}
	if key != "" {
		in.IdempotencyKey = proto.String(key)
	}
	for _, d := range deadlines {
		task, err := j.task(scope, d, override)
		if err != nil {
			return err
		}
		in.Tasks = append(in.Tasks, task)
	}
	out, err := j.Queue.Schedule(ctx, in)
	if err != nil {
		return fmt.Errorf("schedule escalation: %w", err)
	}
	for i, d := range deadlines {
		if i < len(out.GetJobIds()) && out.GetJobIds()[i] != d.JobID {
			if err := j.Deadlines.NoteJob(ctx, scope, d.BillID, out.GetJobIds()[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// notLongPast returns the deadline, or the present time if the deadline is more than an hour ago: the queue rejects
// times more than a day in the past.
func (j Jobs) notLongPast(due time.Time) time.Time {
	if now := j.Clock.Now(); due.Before(now.Add(-time.Hour)) {
		return now
	}
	return due
}

func (j Jobs) task(scope authn.LabScope, d callout.Deadline, override bool) (*taskqueuev1.ScheduledTask, error) {
	bill := strconv.FormatInt(d.BillID, 10)
	data, err := json.Marshal(struct {
		URL     string           `json:"url"`
		Args    map[string]int64 `json:"args"`
		IsBody  int              `json:"isBody"`
		Timeout int              `json:"timeout"`
	}{
		strings.TrimRight(j.BaseURL, "/") + "/report/" + bill + "/critical/evaluate",
		map[string]int64{"lab_id": scope.LabID()}, 1, webhookTimeout,
	})
	if err != nil {
		return nil, fmt.Errorf("encode webhook: %w", err)
	}
	task := &taskqueuev1.ScheduledTask{
		SchTime:          j.notLongPast(d.DueAt).UTC().Format(timeLayout),
		Task:             taskWebhook,
		TaskType:         webhookPost,
		Data:             &typev1.RawJSON{Json: data},
		WindowDelay:      proto.String("callout_" + bill),
		LogTag:           proto.String("callout_escalation"),
		Retry:            proto.Int32(webhookRetries),
		OverridePriority: proto.Int32(high),
	}
	if override {
		task.OverrideWindow = proto.Int32(1)
	}
	return task, nil
}
