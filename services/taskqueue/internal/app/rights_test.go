package app_test

import (
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

func TestTheWholeServiceNeedsTheDocumentedRightsAndNoMore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	words := []any{"ACL", "SETUSER", "queue", "on", ">a-password", "~" + engine.Keys, "resetchannels", "-@all"}
	for _, right := range engine.Rights() {
		words = append(words, right)
	}
	if err := server.Client().Do(t.Context(), words...).Err(); err != nil {
		t.Fatal(err)
	}
	r := newTally(t, 0)
	p := newProcessOn(t, server, "TASKQUEUE_REDIS_USER=queue", "TASKQUEUE_REDIS_PASS=a-password", "TASKQUEUE_DB_ENABLED=false",
		"TASKQUEUE_HOST_RATE=1000", "TASKQUEUE_ADMIN_TOKEN="+adminToken)
	p.ready()
	told := r.URL + "/told"
	client, ctx := p.client()
	answer, err := client.Enqueue(ctx, &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{
		{Task: 4, TaskType: 2, Data: webhookData(r.URL + "/hook"), Subscribe: &told},
		{Task: 1, TaskType: 3, Data: &typev1.RawJSON{Json: []byte(`{"contact":9812345678,"countryCode":91,"message":"Hello"}`)}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range answer.GetJobIds() {
		await.True(t, "the delivery", func() bool { return p.status(id) == "finished" })
	}
	await.True(t, "the mailbox", func() bool {
		_, body := p.get("/outbox/messages?channel=sms")
		return strings.Contains(body, "9812345678")
	})
	if code, body := p.adminPage("GET", "api/overview", adminToken, ""); code != 200 {
		t.Errorf("the page: %d %s", code, body)
	}
	if log := p.log.String(); strings.Contains(log, "NOPERM") {
		t.Errorf("something was refused:\n%s", log)
	}
}
