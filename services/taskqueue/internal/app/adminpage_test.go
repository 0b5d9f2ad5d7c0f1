package app_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/app"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

const adminToken = "a-token-of-the-queue-page"

// adminPage sends a request to the API of the queue's page.
func (p *process) adminPage(method, path, token, body string) (int, string) {
	p.t.Helper()
	q, err := http.NewRequestWithContext(p.t.Context(), method, "http://"+p.admin+"/queue-admin/"+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+token)
	answer, err := (&http.Client{Timeout: 10 * time.Second}).Do(q)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestAPausedChannelWaitsOverARestartUntilItIsResumed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	paused(t, server.Client(), engine.ChannelTarget(job.Webhook))
	r := newTally(t, 0)
	p := newProcessOn(t, server, "TASKQUEUE_ADMIN_TOKEN="+adminToken, "TASKQUEUE_DB_ENABLED=false")
	p.ready()
	waiting := p.enqueueOne(r.URL+"/hook", r.URL+"/told")
	client, ctx := p.client()
	answer, err := client.Enqueue(ctx, &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{{Task: 1, TaskType: 3,
		Data: &typev1.RawJSON{Json: []byte(`{"contact":9812345678,"countryCode":91,"message":"Hello"}`)}}}})
	if err != nil {
		t.Fatal(err)
	}
	await.True(t, "the message of another channel", func() bool { return p.status(answer.GetJobIds()[0]) == "finished" })
	if got := p.status(waiting); got != "queued" || r.total.Load() != 0 {
		t.Errorf("the webhook is %s after %d requests", got, r.total.Load())
	}
	if code, text := p.adminPage("POST", "api/pause", "wrong", `{"operator":"a.rao","channel":"webhook"}`); code != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d %s", code, text)
	}
	if code, text := p.adminPage("POST", "api/pause", adminToken, `{"operator":"a.rao","channel":"webhook"}`); code != http.StatusOK {
		t.Fatalf("got %d %s, want 200", code, text)
	}
	await.True(t, "the webhook and its callback", func() bool { sent, told := r.distinct(); return sent == 1 && told == 1 })
	await.True(t, "the attempts on the page", func() bool {
		_, text := p.adminPage("GET", "api/overview", adminToken, "")
		return strings.Contains(text, `"attempts":{"callback":1,`) && strings.Contains(text, `"sms":1,"webhook":1,"whatsapp":0}`)
	})
	p.fsck()
}

func TestThereIsNoPageWithoutATokenAndNoOpenOneInProduction(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	p.ready()
	if code, _ := p.adminPage("GET", "", "", ""); code != http.StatusNotFound {
		t.Errorf("the page without a token: %d", code)
	}
	secret := "TASKQUEUE_SERVICE_TOKEN_SECRET=" + strings.Repeat("s", 32)
	for setting, want := range map[string]string{
		"TASKQUEUE_ADMIN_TOKEN=short":                    "shorter than 16",
		"TASKQUEUE_ADMIN_TOKEN=one-that-is-long-enough,": "shorter than 16",
		"TASKQUEUE_ADMIN_OPEN=true":                      "needs TASKQUEUE_ADMIN_TOKEN",
		"TASKQUEUE_ALLOWED_HOSTS=a.example,127.0.0.1":    "name the port as well",
		"TASKQUEUE_ALLOWED_HOSTS=core.lab.svc":           "name the port as well",
	} {
		_, err := app.Load([]string{setting, secret, "TASKQUEUE_ENVIRONMENT=production"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", setting, err, want)
		}
	}
}
