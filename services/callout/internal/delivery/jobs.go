package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/authn"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// TaskQueue is the part of the task queue's client that is used.
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

// Clocks reads the clocks of bills and notes their jobs.
type Clocks interface {
	Escalation(ctx context.Context, scope authn.LabScope, billID int64) (callout.Escalation, error)
	NoteJob(ctx context.Context, scope authn.LabScope, billID int64, jobID string) error
}

// Documented numbers and shapes of the task queue.
const (
	taskWebhook    = 4
	webhookPost    = 2
	webhookRetries = 10
	webhookTimeout = 30 // seconds
	timeLayout     = "2006-01-02T15:04:05"
	high           = 2
)

// Jobs keeps one job of the task queue for each bill whose clock runs: at the deadline it posts to this service's own
// evaluation through the gateway's internal listener. BaseURL is WEBHOOK_URL.
type Jobs struct {
	BaseURL string
	Queue   TaskQueue
	Clocks  Clocks
}

// Align brings the job of a bill in line with its clock. It may be repeated: the window key makes it one job a bill.
func (j Jobs) Align(ctx context.Context, scope authn.LabScope, billID int64, key string) error {
	e, err := j.Clocks.Escalation(ctx, scope, billID)
	if err != nil {
		return err
	}
	if !e.DueAt.IsZero() {
		return j.schedule(ctx, scope, []callout.Escalation{e}, key, true)
	}
	if e.JobID == "" {
		return nil
	}
	ids, err := json.Marshal([]string{e.JobID})
	if err != nil {
		return fmt.Errorf("encode job id: %w", err)
	}
	if _, err := j.Queue.CancelJob(ctx, &taskqueuev1.CancelJobRequest{JobId: &typev1.RawJSON{Json: ids}}); err != nil {
		return fmt.Errorf("cancel job: %w", err)
	}
	return j.Clocks.NoteJob(ctx, scope, billID, "") // a job that the queue does not know has run or was lost
}

// atOnce is how many tasks the queue takes in one request.
const atOnce = 500

// Ensure makes the jobs that the queue has lost: a waiting one is joined and stays as it is.
func (j Jobs) Ensure(ctx context.Context, scope authn.LabScope, clocks []callout.Escalation) error {
	for part := range slices.Chunk(clocks, atOnce) {
		if err := j.schedule(ctx, scope, part, "", false); err != nil {
			return err
		}
	}
	return nil
}

func (j Jobs) schedule(
	ctx context.Context, scope authn.LabScope, clocks []callout.Escalation, key string, override bool,
) error {
	in := &taskqueuev1.ScheduleRequest{LabId: proto.Int64(scope.LabID())}
	if key != "" {
		in.IdempotencyKey = proto.String(key)
	}
	for _, e := range clocks {
		task, err := j.task(scope, e, override)
		if err != nil {
			return err
		}
		in.Tasks = append(in.Tasks, task)
	}
	out, err := j.Queue.Schedule(ctx, in)
	if err != nil {
		return fmt.Errorf("schedule escalation: %w", err)
	}
	for i, e := range clocks {
		if i < len(out.GetJobIds()) && out.GetJobIds()[i] != e.JobID {
			if err := j.Clocks.NoteJob(ctx, scope, e.BillID, out.GetJobIds()[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j Jobs) task(scope authn.LabScope, e callout.Escalation, override bool) (*taskqueuev1.ScheduledTask, error) {
	bill := strconv.FormatInt(e.BillID, 10)
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
		SchTime: e.DueAt.UTC().
			Format(timeLayout),
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
