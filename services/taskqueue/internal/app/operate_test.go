package app_test

import (
	"bytes"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/cli"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/app"
)

// verb runs an operator's command on the process's Redis, with flags as name=value.
func (p *process) verb(name string, flags map[string]string, args ...string) (string, error) {
	p.t.Helper()
	text, _, err := p.loggedVerb(name, flags, args...)
	return text, err
}

// loggedVerb runs a command and also returns its log.
func (p *process) loggedVerb(name string, flags map[string]string, args ...string) (text, logged string, err error) {
	p.t.Helper()
	var out, log bytes.Buffer
	for _, v := range app.Verbs(p.env, &out, &log) {
		if v.Name != name {
			continue
		}
		set := flagSet(v)
		for flag, value := range flags {
			if err := set.Set(flag, value); err != nil {
				p.t.Fatal(err)
			}
		}
		err := v.Run(p.t.Context(), args)
		return out.String(), log.String(), err
	}
	p.t.Fatalf("no verb %s", name)
	return "", "", nil
}

func TestOperatorsSeeJobsAndDamageAndNeverPayloads(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	p.ready()
	client, ctx := p.client()
	later := now().AddDate(0, 6, 0).Format("2006-01-02T15:04:05")
	answer, err := client.Schedule(ctx, &taskqueuev1.ScheduleRequest{Tasks: []*taskqueuev1.ScheduledTask{{SchTime: later, Task: 1, TaskType: 2,
		Data: &typev1.RawJSON{Json: []byte(`{"contact":9812345678,"countryCode":91,"message":"Your code is 135790"}`)}}}})
	if err != nil {
		t.Fatal(err)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(gone.Close)
	failed := p.enqueue(gone.URL)
	await.True(t, "the failure", func() bool { return p.status(failed) == "failed" })
	shown := map[string]string{}
	for name, call := range map[string]func() (string, error){
		"lanes": func() (string, error) { return p.verb("jobs", nil) },
		"dead":  func() (string, error) { return p.verb("jobs", map[string]string{"dead": "5"}) },
		"one":   func() (string, error) { return p.verb("jobs", nil, answer.GetJobIds()[0]) },
		"fsck":  func() (string, error) { return p.verb("fsck", nil) },
	} {
		text, err := call()
		if err != nil || strings.Contains(text, "9812345678") || strings.Contains(text, "135790") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		shown[name] = text
	}
	for name, want := range map[string]string{"lanes": "retryTask can revive: 1", "dead": "The receiver answered 404", "one": "scheduled", "fsck": "0 violations"} {
		if !strings.Contains(shown[name], want) {
			t.Errorf("%s does not say %q:\n%s", name, want, shown[name])
		}
	}
	if text, err := p.verb("resolve", map[string]string{"sent": "true"}, failed); err == nil || !strings.Contains(text, "not in state unknown") {
		t.Errorf("a failed job was resolved: %v\n%s", err, text)
	}
	if _, err := p.verb("resolve", nil, failed); err == nil {
		t.Error("resolve must be told what is known")
	}
	if _, err := p.verb("jobs", nil, "nope"); err == nil {
		t.Error("an unknown job must fail the verb")
	}
	for _, key := range keys(t, p.redis.Client(), "l:sms:0") {
		if err := p.redis.Client().ZRem(ctx, key, answer.GetJobIds()[0]).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := p.verb("fsck", nil); !errors.Is(err, app.ErrViolations) || !strings.Contains(text, "orphan_body") {
		t.Errorf("%v\n%s", err, text)
	}
	if text, err := p.verb("fsck", map[string]string{"repair": "true"}); err != nil || !strings.Contains(text, "1 repaired") {
		t.Errorf("%v\n%s", err, text)
	}
	if got := p.status(answer.GetJobIds()[0]); got != "failed" {
		t.Errorf("the fixed job is %s", got)
	}
	await.True(t, "the auditor's own count", func() bool {
		_, body := p.get("/metrics")
		return strings.Contains(body, "taskqueue_audit_checked_total") && !strings.Contains(body, "taskqueue_audit_checked_total 0\n")
	})
}

func flagSet(v cli.Verb) *flag.FlagSet {
	set := flag.NewFlagSet(v.Name, flag.ContinueOnError)
	v.Flags(set)
	return set
}
