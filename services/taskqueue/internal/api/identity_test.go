package api_test

import (
	"context"
	"testing"

	"github.com/labplatform/labplatform/pkg/clock"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/api"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine/model"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// identified notes what identifies the requests that it accepts.
type identified struct {
	*model.Model
	hash string
}

func (q *identified) Enqueue(ctx context.Context, b engine.Batch) (engine.Accepted, error) {
	q.hash = b.RequestHash
	return q.Model.Enqueue(ctx, b)
}

// A repeat may meet another release than the request did: while a deployment continues, or in the day after it. A hash that
// differs is a conflict to it, and its caller never learns the ids. Anyone who has to change one of these makes the new form
// recognise the previous one for a day.
func TestWhatIdentifiesARequestIsTheSameInEveryRelease(t *testing.T) {
	t.Parallel()
	q := &identified{Model: model.New(clock.System{}, engine.DefaultSettings())}
	a := &api.Acceptor{Queue: q, IDs: generator(), Observer: anywhere{},
		Checks: api.Checks{Targets: anywhere{}, Serves: serves, Clock: clock.System{}}}
	webhook := &taskqueuev1.ScheduledTask{Task: 4, TaskType: 2, Data: raw(`{"url":"https://a.example/x","args":{"n":1}}`),
		Headers: map[string]string{"X-Two": "2", "X-One": "1"}, LogTag: new("tag"), Retry: new(int32(0)),
		Subscribe: new("https://a.example/all"), FailedTaskHandler: new("https://a.example/failed"), OverridePriority: new(int32(2))}
	password := &taskqueuev1.ScheduledTask{Task: 1, TaskType: 1, Data: raw(`{"contact":9812345678,"countryCode":91,"message":"1234"}`)}
	window := toWindow("2026-12-01T10:00:00", "k")
	for name, c := range map[string]struct {
		want  string
		tasks []*taskqueuev1.ScheduledTask
		now   bool
	}{
		"a webhook and a password": {"d80a2fc77d019a36917d586bd2c29015", []*taskqueuev1.ScheduledTask{webhook, password}, true},
		"a window":                 {"9cf882b0bed442e5d2e76b4393e7dba2", []*taskqueuev1.ScheduledTask{window}, false},
	} {
		if _, err := a.Accept(t.Context(), ofUser("key of "+name), c.tasks, c.now); err != nil || q.hash != c.want {
			t.Errorf("%s: %q, %v", name, q.hash, err)
		}
	}
	notice := &taskqueuev1.ScheduledTask{Task: 3, TaskType: 1, Data: raw(`{"topic":"t","title":"t"}`), OverridePriority: new(int32(2))}
	notifications := api.Request{Caller: task.Caller{LabID: 1500, Name: "service:notifications", Internal: true}, IdempotencyKey: "k"}
	for name, c := range map[string]struct {
		task *taskqueuev1.ScheduledTask
		want string
	}{
		"an urgent notice":                          {notice, "c1a4dfe458c34e3873396d310887b8ab"},
		"a password of a laboratory of high number": {password, "3b18a701e478da79fe229498522278b2"},
	} {
		notifications.IdempotencyKey = name
		_, err := a.Accept(t.Context(), notifications, []*taskqueuev1.ScheduledTask{c.task}, true)
		if err != nil || q.hash != c.want {
			t.Errorf("%s: %q, %v; want %q", name, q.hash, err, c.want)
		}
	}
	mapping := []*taskqueuev1.DictionaryMapping{{Keyword: "hb", Data: raw(`{"a":1}`)}}
	if _, err := a.Map(t.Context(), ofUser(""), mapping); err != nil || q.hash != "bf8a83696d6c5f9163e435057d8ea7e0" {
		t.Errorf("a mapping: %q, %v", q.hash, err)
	}
}
