package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

func rawJSON(text string) *typev1.RawJSON { return &typev1.RawJSON{Json: []byte(text)} }

// TestACriticalPushGoesOutWhileACampaignFillsTheQuota schedules e-mails until the laboratory's quota rejects them. A
// critical push of the laboratory must be accepted and sent at once; the same push from another service must be
// rejected.
func TestACriticalPushGoesOutWhileACampaignFillsTheQuota(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "TASKQUEUE_LAB_BYTES=6000", "TASKQUEUE_DB_ENABLED=false")
	p.ready()
	client, core := p.client()
	mail := &taskqueuev1.ScheduledTask{
		SchTime: now().Add(48 * time.Hour).UTC().Format(task.TimeLayout), Task: 2, TaskType: 4,
		Data: rawJSON(`{"to":["a@b.example"],"subject":"Health check","message":"<p>Come in</p>"}`),
	}
	var err error
	mails := 0
	for ; err == nil && mails < 100; mails++ {
		_, err = client.Schedule(core, &taskqueuev1.ScheduleRequest{LabId: new(int64(12)), Tasks: []*taskqueuev1.ScheduledTask{mail}})
	}
	if status.Code(err) != codes.ResourceExhausted {
		t.Fatalf("after %d e-mails: %v, want the laboratory refused", mails, err)
	}
	notice := &taskqueuev1.EnqueueRequest{LabId: new(int64(12))}
	for _, topic := range []string{"org_45", "doctor_301", "lab_12"} {
		notice.Tasks = append(notice.Tasks, &taskqueuev1.Task{Task: 3, TaskType: 1, OverridePriority: new(int32(2)), Data: rawJSON(fmt.Sprintf(
			`{"topic":"IN_notification_type_2_%s","title":"Critical report","body":"A report has a critical result. Open it now.",`+
				`"data":{"notification_id":"1","notification_type_id":"2","for":"org","lrr_id":"7001"},"priority":"high"}`, topic))})
	}
	if _, err := client.Enqueue(core, notice); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("the same push of another service: %v, want it refused", err)
	}
	token, err := authn.NewServiceTokens(config.Secret(serviceSecret), "notifications", clock.System{}).Mint("taskqueue", "")
	if err != nil {
		t.Fatal(err)
	}
	notifications := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
	if _, err := client.Enqueue(notifications, notice); err != nil {
		t.Fatalf("the critical push beside %d e-mails: %v, want it accepted", mails, err)
	}
	await.True(t, "the critical push", func() bool {
		_, body := p.get("/outbox/messages?channel=push")
		return strings.Contains(body, "type_2_org_45") && strings.Contains(body, "type_2_lab_12")
	})
}
