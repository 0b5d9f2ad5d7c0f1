package grpcapi_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/grpcapi"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// waiting returns the number of waiting jobs.
func (a *site) waiting() (n int64) {
	a.t.Helper()
	depths, err := a.queue.Depths(a.t.Context(), 0)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, d := range depths.Lanes {
		n += d.Waiting
	}
	return n
}

func TestASenderThatIsNotTheLaboratorysIsRefusedAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	for field, task := range map[string]*taskqueuev1.Task{
		"data.sender_email":    {Task: 2, TaskType: 1, Data: raw(`{"to":["a@b.example"],"message":"hi","sender_email":"%s"}`)},
		"data.senderId":        {Task: 1, TaskType: 1, Data: raw(`{"contact":9812345678,"message":"hi","senderId":"%s"}`)},
		"data.config.provider": {Task: 6, TaskType: 1, Data: raw(`{"contact":9812345678,"message":"hi","config":{"provider":"%s"}}`)},
	} {
		a := open(t, grpcapi.AccessAuthenticated)
		with := func(name string) *taskqueuev1.Task {
			text := strings.ReplaceAll(string(task.GetData().GetJson()), "%s", name)
			return &taskqueuev1.Task{Task: task.GetTask(), TaskType: task.GetTaskType(), Data: raw(text)}
		}
		_, err := a.Enqueue(asUser(t, 12), &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{hook(), with("forged@else.example")}})
		known, ok := apperr.From(err)
		if !ok || known.Kind != apperr.Invalid || len(known.Fields) != 1 || known.Fields[0].Name != field || known.Fields[0].Index != 1 {
			t.Errorf("%s: %v", field, err)
		}
		if n := a.waiting(); n != 0 {
			t.Errorf("%s: %d jobs were written", field, n)
		}
		channel := map[int32]job.Channel{1: job.SMS, 2: job.Email, 6: job.WhatsApp}[task.GetTask()]
		a.enqueue(asUser(t, 12), with(channel.String()+"-of-12@lab.example"))
		a.enqueue(asUser(t, 13), with("forged@else.example")) // a laboratory without rules
		a.enqueue(asService(t), with("forged@else.example"))  // without a laboratory
		a.enqueue(asUser(t, 12), with(""))                    // the default sender
	}
}

// verbs returns all calls about jobs, mappings and consents that users can make.
func (a *site) verbs(id string) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"enqueue": func(ctx context.Context) error {
			_, err := a.Enqueue(ctx, &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{hook()}})
			return err
		},
		"schedule": func(ctx context.Context) error {
			_, err := a.Schedule(ctx, &taskqueuev1.ScheduleRequest{Tasks: []*taskqueuev1.ScheduledTask{{SchTime: "2034-07-01T00:00:00",
				Task: 4, TaskType: 2, Data: hook().GetData()}}})
			return err
		},
		"look": func(ctx context.Context) error {
			_, err := a.JobInfo(ctx, &taskqueuev1.JobInfoRequest{Id: raw(`"` + id + `"`)})
			return err
		},
		"move": func(ctx context.Context) error {
			_, err := a.RescheduleJob(ctx, &taskqueuev1.RescheduleJobRequest{JobId: &id, RescAt: new("2034-07-01T00:00:00")})
			return err
		},
		"cancel": func(ctx context.Context) error {
			_, err := a.CancelJob(ctx, &taskqueuev1.CancelJobRequest{JobId: raw(`"` + id + `"`)})
			return err
		},
		"retry": func(ctx context.Context) error {
			_, err := a.RetryTask(ctx, &taskqueuev1.RetryTaskRequest{Jobs: []*taskqueuev1.RetryTarget{{JobId: id}}})
			return err
		},
		"map": func(ctx context.Context) error {
			_, err := a.Mapping(ctx, &taskqueuev1.MappingRequest{Mappings: []*taskqueuev1.DictionaryMapping{{Keyword: "k", Data: raw(`{"a":1}`)}}})
			return err
		},
		"consent": func(ctx context.Context) error {
			_, err := a.UpdateConsent(ctx, &taskqueuev1.UpdateConsentRequest{Type: new("opt_in"), CacheKey: new("k")})
			return err
		},
	}
}

func TestEveryVerbNeedsThePermissionWhereOneIsSet(t *testing.T) {
	t.Parallel()
	a := openFor(t, grpcapi.AccessAuthenticated, "task_send")
	allowed := authn.NewContext(t.Context(), authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 77,
		Permissions: []string{"task_send"}})
	id := a.enqueue(allowed, hook())[0]
	a.enqueue(asService(t), hook())
	for name, call := range a.verbs(id) {
		before := a.waiting()
		err := call(asUser(t, 12))
		if known, ok := apperr.From(err); !ok || known.Kind != apperr.Forbidden || known.Reason != "SENDING_NOT_ALLOWED" {
			t.Errorf("%s: %v", name, err)
		}
		if a.waiting() != before {
			t.Errorf("%s wrote", name)
		}
		if err := call(allowed); apperr.Is(err, apperr.Forbidden) {
			t.Errorf("%s with the permission: %v", name, err)
		}
	}
}

func TestWhoRefersPatientsHasNothingToDoWithMessages(t *testing.T) {
	t.Parallel()
	a := open(t, grpcapi.AccessAuthenticated)
	id := a.enqueue(asUser(t, 12), hook())[0]
	referring, department := 2, 0
	login := func(p authn.Principal) context.Context {
		p.Kind, p.LabID, p.Permissions = authn.Session, 12, []string{"task_send"}
		return authn.NewContext(t.Context(), p)
	}
	for name, call := range a.verbs(id) {
		for who, p := range map[string]authn.Principal{
			"an organisation":     {SessionType: authn.Organization, OrgID: 45},
			"a collection centre": {SessionType: authn.CollectionCenter, CCID: 21},
			"a referring doctor":  {SessionType: authn.Doctor, DoctorID: 301, DocType: &referring},
		} {
			if err := call(login(p)); !apperr.Is(err, apperr.Forbidden) {
				t.Errorf("%s as %s: %v", name, who, err)
			}
		}
		if err := call(login(authn.Principal{SessionType: authn.Doctor, DoctorID: 302, DocType: &department})); apperr.Is(err, apperr.Forbidden) {
			t.Errorf("%s as a department's doctor: %v", name, err)
		}
	}
}

func asInstrument(t *testing.T, lab int64) context.Context {
	t.Helper()
	p := authn.Principal{Kind: authn.Bearer, LabID: lab}
	if !p.IsInstrument() {
		t.Fatalf("%+v is not an instrument", p)
	}
	return authn.NewContext(t.Context(), p)
}

// TestAnInstrumentSendsWebhooksAndNothingToPeople checks that a single message in an instrument's request makes the
// whole request fail.
func TestAnInstrumentSendsWebhooksAndNothingToPeople(t *testing.T) {
	t.Parallel()
	a := open(t, grpcapi.AccessAuthenticated)
	for name, message := range map[string]*taskqueuev1.Task{
		"one-time password": {Task: 1, TaskType: 1, Data: raw(`{"contact":9812345678,"message":"Your code is 123456"}`)},
		"mail":              {Task: 2, TaskType: 1, Data: raw(`{"to":["a@b.example"],"message":"hi"}`)},
		"push":              {Task: 3, TaskType: 1, Data: raw(`{"tokens":["t"],"title":"hi"}`)},
		"WhatsApp":          {Task: 6, TaskType: 1, Data: raw(`{"contact":9812345678,"message":"hi"}`)},
	} {
		_, err := a.Enqueue(asInstrument(t, 12), &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{hook(), message}})
		if known, ok := apperr.From(err); !ok || known.Kind != apperr.Forbidden || known.Reason != "INSTRUMENT_MAY_NOT_SEND" {
			t.Errorf("%s: %v, want 403 INSTRUMENT_MAY_NOT_SEND", name, err)
		}
		if n := a.waiting(); n != 0 {
			t.Errorf("%s: %d jobs were written, want none", name, n)
		}
	}
	a.enqueue(asInstrument(t, 12), hook())
}

// TestOnlyServicesNameTopicsOfThePlatform checks that a login cannot use the platform's topics, with which it could
// send a false critical result to the devices of another laboratory.
func TestOnlyServicesNameTopicsOfThePlatform(t *testing.T) {
	t.Parallel()
	a := open(t, grpcapi.AccessAuthenticated)
	for _, topic := range []string{"IN_notification_type_2_lab_12", "IN_notification_type_2_lab_13", "X_notification_type_1_org_45_9f86d081884c"} {
		push := &taskqueuev1.Task{Task: 3, TaskType: 1, Data: raw(`{"topic":"` + topic + `","title":"Critical report"}`)}
		_, err := a.Enqueue(asUser(t, 12), &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{push}})
		known, ok := apperr.From(err)
		if !ok || known.Kind != apperr.Invalid || len(known.Fields) != 1 || known.Fields[0].Name != "data.topic" {
			t.Errorf("%s by a user: %v, want 400 for data.topic", topic, err)
		}
		a.enqueue(asService(t), push)
	}
	a.enqueue(asUser(t, 12), &taskqueuev1.Task{Task: 3, TaskType: 1, Data: raw(`{"topic":"news","title":"hi"}`)})
}

// TestWhatAnInstallationLacksIsNoFaultOfAServicesTask checks that, if an installation lacks a setting or provider, a
// service gets a temporary error and a user gets the reason.
func TestWhatAnInstallationLacksIsNoFaultOfAServicesTask(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		number int32
		data   string
	}{
		"no provider":                      {3, `{"topic":"t","title":"x"}`},
		"an origin not listed":             {4, `{"url":"http://bad-callout:8091/x"}`},
		"an address that is not allowed":   {4, `{"url":"https://bad.example/x"}`},
		"a provider without a row":         {1, `{"contact":"9812345678","countryCode":91,"message":"x","config":{"provider":"other"}}`},
		"a sender of no laboratory":        {1, `{"contact":"9812345678","countryCode":91,"message":"x","senderId":"OTHER"}`},
		"no country code of the installed": {1, `{"contact":"9812345678","message":"x"}`},
	} {
		a := open(t, grpcapi.AccessAuthenticated)
		a.Tasks.Serves = func(ch job.Channel, _ int) bool { return ch != job.Push }
		a.Tasks.Country = 0
		a.Tasks.Known = func(job.Channel, string) bool { return false }
		a.Tasks.Sender = func(job.Channel, int64, task.Sender) bool { return false }
		request := &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{{Task: c.number, TaskType: 2, Data: raw(c.data)}}, LabId: proto.Int64(12)}
		for kind, want := range map[apperr.Kind]context.Context{apperr.Unavailable: asService(t), apperr.Invalid: asUser(t, 12)} {
			if _, err := a.Enqueue(want, request); !apperr.Is(err, kind) {
				t.Errorf("%s: %v, want kind %d", name, err, kind)
			}
		}
		if n := a.waiting(); n != 0 {
			t.Errorf("%s: %d jobs were written", name, n)
		}
	}
}

func TestAServiceAsksWhetherItsTasksAreDelivered(t *testing.T) {
	t.Parallel()
	a := open(t, grpcapi.AccessAuthenticated)
	a.Unserved = func(ch job.Channel, taskType int) string {
		if ch == job.Push && taskType == 1 {
			return "provider_out"
		}
		return ""
	}
	a.PausedLabs = func() []int64 { return []int64{12} }
	for taskType, want := range map[int32]string{1: "provider_out", 2: ""} {
		got, err := a.GetService(asService(t), &taskqueuev1.GetServiceRequest{Task: 3, TaskType: taskType})
		if err != nil || got.GetUnserved() != want || !slices.Equal(got.GetPausedLabs(), []int64{12}) {
			t.Errorf("push of type %d: %v, %v; want %q, and laboratory 12 paused", taskType, got, err, want)
		}
	}
	if _, err := a.GetService(asService(t), &taskqueuev1.GetServiceRequest{Task: 5}); !apperr.Is(err, apperr.Invalid) {
		t.Errorf("an unknown task: %v, want it refused", err)
	}
}
