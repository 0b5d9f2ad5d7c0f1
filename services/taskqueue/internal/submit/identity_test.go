package submit_test

import (
	"context"
	"testing"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/submit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// identified is a fake engine that stores the hashes of the requests.
type identified struct {
	*enginetest.Model
	hash string
}

func (q *identified) Enqueue(ctx context.Context, b engine.Batch) (engine.Accepted, error) {
	q.hash = b.RequestHash
	return q.Model.Enqueue(ctx, b)
}

// TestWhatIdentifiesARequestIsTheSameInEveryRelease: during a rollout and for a day after it, a repeat may reach
// another release than the request. A different hash would be a conflict, and the caller would never get the ids. A
// change of one of these hashes must also accept the previous one for a day.
func TestWhatIdentifiesARequestIsTheSameInEveryRelease(t *testing.T) {
	t.Parallel()
	q := &identified{Model: enginetest.New(clock.System{}, engine.DefaultSettings())}
	a := &submit.Acceptor{Queue: q, IDs: generator(), Observer: anywhere{},
		Checks: submit.Checks{Targets: anywhere{}, Serves: serves, Clock: clock.System{}}}
	webhook := task.Submission{Task: 4, Type: 2, Data: []byte(`{"url":"https://a.example/x","args":{"n":1}}`),
		Headers: map[string]string{"X-Two": "2", "X-One": "1"}, LogTag: "tag", Retry: new(0),
		Subscribe: "https://a.example/all", OnFailure: "https://a.example/failed", Priority: new(2)}
	password := task.Submission{Task: 1, Type: 1, Data: []byte(`{"contact":9812345678,"countryCode":91,"message":"1234"}`)}
	window := toWindow("2026-12-01T10:00:00", "k")
	for name, c := range map[string]struct {
		want  string
		tasks []task.Submission
		now   bool
	}{
		"a webhook and a password": {"d80a2fc77d019a36917d586bd2c29015", []task.Submission{webhook, password}, true},
		"a window":                 {"9cf882b0bed442e5d2e76b4393e7dba2", []task.Submission{window}, false},
	} {
		if _, err := a.Accept(t.Context(), ofUser("key of "+name), c.tasks, c.now); err != nil || q.hash != c.want {
			t.Errorf("%s: %q, %v", name, q.hash, err)
		}
	}
	notice := task.Submission{Task: 3, Type: 1, Data: []byte(`{"topic":"t","title":"t"}`), Priority: new(2)}
	notifications := submit.Request{Caller: task.Caller{LabID: 1500, Name: "service:notifications", Internal: true}, IdempotencyKey: "k"}
	for name, c := range map[string]struct {
		one  task.Submission
		want string
	}{
		"an urgent notice":                          {notice, "c1a4dfe458c34e3873396d310887b8ab"},
		"a password of a laboratory of high number": {password, "3b18a701e478da79fe229498522278b2"},
	} {
		notifications.IdempotencyKey = name
		_, err := a.Accept(t.Context(), notifications, []task.Submission{c.one}, true)
		if err != nil || q.hash != c.want {
			t.Errorf("%s: %q, %v; want %q", name, q.hash, err, c.want)
		}
	}
	mapping := []task.Mapping{{Keyword: "hb", Data: []byte(`{"a":1}`)}}
	if _, err := a.Map(t.Context(), ofUser(""), mapping); err != nil || q.hash != "bf8a83696d6c5f9163e435057d8ea7e0" {
		t.Errorf("a mapping: %q, %v", q.hash, err)
	}
}
