package kinds_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/kinds"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

type outbox struct{}

func (outbox) Paid() bool                                                  { return false }
func (outbox) Handle(context.Context, worker.Delivery) (job.Result, error) { return job.Result{}, nil }

func TestSettingsBecomeSendersOfTheirKind(t *testing.T) {
	t.Parallel()
	build := kinds.Factory(provider.Deps{Secrets: provider.Directory{Root: fstest.MapFS{"token": {Data: []byte("x")}}}}, outbox{})
	for _, c := range []struct {
		channel        job.Channel
		name, settings string
		paid           bool
		problem        string
	}{
		{job.Email, "smtp", `{"host":"h","from":"a@b.c"}`, false, ""},
		{job.Email, "backup", `{"kind":"smtp","host":"h","from":"a@b.c"}`, false, ""},
		{job.SMS, "twilio", `{"account":"AC1","token_secret":"token","from":"x"}`, true, ""},
		{job.SMS, "india", `{"kind":"http","url":"https://x.test/?t={{query .Message}}","success":{"statuses":[200]}}`, true, ""},
		{job.WhatsApp, "graph", `{"phone_number_id":"1","token_secret":"token"}`, true, ""},
		{job.Push, "outbox", `{}`, false, ""},
		{job.Push, "fcm", `{}`, false, "key_secret"},
		{job.Email, "twilio", `{}`, false, `kind "twilio" does not exist for email: use smtp`},
		{job.SMS, "india", `{}`, false, "use http or twilio"},
		{job.SMS, "india", `null`, false, "use http or twilio"},
		{job.SMS, "india", `[]`, false, "not a JSON object"},
	} {
		s, err := build(c.channel, c.name, []byte(c.settings))
		switch {
		case c.problem == "" && (err != nil || s == nil || s.Paid() != c.paid):
			t.Errorf("%s %s: %v", c.channel, c.name, err)
		case c.problem != "" && (err == nil || s != nil || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%s %s: %v", c.channel, c.name, err)
		}
	}
	if _, err := kinds.Factory(provider.Deps{}, nil)(job.SMS, "outbox", []byte(`{}`)); err == nil {
		t.Error("an outbox where there is none")
	}
}
