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

// scheduleSMS schedules n messages for a distant time.
func (p *process) scheduleSMS(n int) (ids []string) {
	p.t.Helper()
	client, ctx := p.client()
	later := now().AddDate(0, 6, 0).Format("2006-01-02T15:04:05")
	request := &taskqueuev1.ScheduleRequest{}
	for range n {
		request.Tasks = append(request.Tasks, &taskqueuev1.ScheduledTask{SchTime: later, Task: 1, TaskType: 3,
			Data: &typev1.RawJSON{Json: []byte(`{"contact":9812345678,"countryCode":91,"message":"Hidden text"}`)}})
	}
	answer, err := client.Schedule(ctx, request)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer.GetJobIds()
}

func TestManyJobsAreCountedAndChangedByAVerb(t *testing.T) {
	t.Parallel()
	p := newProcessOn(t, redistest.Start(t), "TASKQUEUE_DB_ENABLED=false")
	p.ready()
	ids := p.scheduleSMS(700)
	flags := map[string]string{"channel": "sms", "dry-run": "true"}
	text, err := p.verb("bulk", flags, "cancel")
	if err != nil || !strings.Contains(text, "cancel: 700 jobs of 700") || strings.Count(text, "\n") != 11 || strings.Contains(text, "Hidden") {
		t.Errorf("%v\n%s", err, text)
	}
	if got := p.status(ids[0]); got != "scheduled" {
		t.Errorf("after the dry run the job is %s", got)
	}
	flags["dry-run"] = "false"
	flags["older-than"] = "1h"
	if text, err = p.verb("bulk", flags, "cancel"); err != nil || !strings.Contains(text, "cancel: 0 jobs of 700") {
		t.Errorf("%v\n%s", err, text)
	}
	flags["older-than"] = "0"
	flags["operator"], flags["ticket"] = "a.rao", "INC-42"
	text, logged, err := p.loggedVerb("bulk", flags, "cancel")
	for _, want := range []string{"operator=a.rao", "ticket=INC-42", "action=cancel", "done=500", "done=200", "channels=[sms]"} {
		if !strings.Contains(logged, want) || strings.Contains(logged, "Hidden") {
			t.Errorf("the log does not say %s: %s", want, logged)
		}
	}
	if err != nil || !strings.Contains(text, "500 done") || !strings.Contains(text, "700 done, 0 asked to end, 0 changed meanwhile, of 700") {
		t.Errorf("%v\n%s", err, text)
	}
	if got := p.status(ids[699]); got != "cancelled" {
		t.Errorf("the job is %s", got)
	}
	for want, call := range map[string]func() (string, error){
		"name one action":       func() (string, error) { return p.verb("bulk", flags) },
		"cancel, retry, delete": func() (string, error) { return p.verb("bulk", flags, "burn") },
		"name a laboratory":     func() (string, error) { return p.verb("bulk", nil, "cancel") },
		"it goes to the log": func() (string, error) {
			return p.verb("bulk", map[string]string{"lab": "12", "operator": "Mr Rao is ill"}, "cancel")
		},
		"cannot be changed": func() (string, error) {
			return p.verb("bulk", map[string]string{"lab": "12", "state": "failed"}, "sent")
		},
	} {
		if _, err := call(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func TestAVerbPausesAndResumes(t *testing.T) {
	t.Parallel()
	p := newProcessOn(t, redistest.Start(t), "TASKQUEUE_DB_ENABLED=false")
	p.ready()
	for _, flags := range []map[string]string{{"channel": "email"}, {"lab": "12"}, {"receiver": "https://api.example.com"}} {
		if text, err := p.verb("pause", flags); err != nil {
			t.Fatalf("got %v %s, want no error", err, text)
		}
	}
	text, err := p.verb("pause", nil)
	for _, want := range []string{"3 pauses", "email", "lab:12", "to:https://api.example.com"} {
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%v, %q does not say %q", err, text, want)
		}
	}
	_, logged, err := p.loggedVerb("resume", map[string]string{"lab": "12", "operator": "a.rao"})
	if err != nil || !strings.Contains(logged, "operator=a.rao") || !strings.Contains(logged, "target=lab:12 paused=false") {
		t.Errorf("%v %s", err, logged)
	}
	if text, err = p.verb("pause", nil); err != nil || !strings.Contains(text, "2 pauses") {
		t.Errorf("%v %s", err, text)
	}
	if _, err = p.verb("pause", map[string]string{"channel": "fax"}); err == nil {
		t.Error("a channel that does not exist was paused")
	}
	if text, err = p.verb("resume", nil); err == nil || text != "" {
		t.Errorf("a resume of nothing: %v %s", err, text)
	}
}

func TestNothingIsSentToAPausedReceiver(t *testing.T) {
	t.Parallel()
	r, other, server := newTally(t, 0), newTally(t, 0), redistest.Start(t)
	paused(t, server.Client(), engine.ReceiverTarget(r.URL))
	p := newProcessOn(t, server, "TASKQUEUE_DB_ENABLED=false")
	p.ready()
	waiting := p.enqueueOne(r.URL+"/hook", other.URL+"/told")
	sent := p.enqueueOne(other.URL+"/hook", other.URL+"/told")
	await.True(t, "the delivery to another receiver", func() bool { return p.status(sent) == "finished" })
	await.True(t, "the postponed delivery", func() bool {
		_, body := p.get("/metrics")
		return strings.Contains(body, `taskqueue_attempts_total{channel="webhook",outcome="postponed"} 1`)
	})
	if got := p.status(waiting); r.total.Load() != 0 || got == "finished" || got == "failed" {
		t.Errorf("the webhook to the paused receiver is %s after %d requests", got, r.total.Load())
	}
}
