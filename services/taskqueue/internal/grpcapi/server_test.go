package grpcapi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/consent"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/grpcapi"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/submit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// site is the whole service without its transport, on the in-memory engine.
type site struct {
	*grpcapi.Server
	t       *testing.T
	queue   *enginetest.Model
	ledger  *ledger
	archive *shelf
}

// ledger is a fake that stores the last change.
type ledger struct {
	last consent.Change
	err  error
}

func (l *ledger) Record(_ context.Context, c consent.Change) error {
	l.last = c
	return l.err
}

// shelf is an in-memory archive.
type shelf struct {
	records map[job.ID]*job.Record
	err     error
}

func (s *shelf) Find(_ context.Context, ids []job.ID) (map[job.ID]*job.Record, error) {
	return s.records, s.err
}

type targets struct{}

func (targets) CheckPublic(raw string) error {
	if strings.Contains(raw, "bad") {
		return errors.New("refused")
	}
	return nil
}

func (targets) IsInternal(u *url.URL) bool { return u.Host == "gateway:8091" }

// uncounted is an observer that ignores all events.
type uncounted struct{}

func (uncounted) Enqueued(job.Lane) {}
func (uncounted) Refused(string)    {}

func open(t *testing.T, access grpcapi.Access) *site {
	t.Helper()
	return openFor(t, access, "")
}

// openFor returns a site open to users with a permission.
func openFor(t *testing.T, access grpcapi.Access, permission string) *site {
	t.Helper()
	q := enginetest.New(clock.System{}, engine.DefaultSettings())
	ids := job.NewGenerator(clock.System{})
	checks := submit.Checks{Targets: targets{}, Serves: func(job.Channel, int) bool { return true },
		Known: func(job.Channel, string) bool { return true },
		Sender: func(c job.Channel, lab int64, named task.Sender) bool {
			name := named.Name
			return lab != 12 || name == c.String()+"-of-12@lab.example"
		},
		Clock: clock.Fixed(time.Date(2034, 6, 1, 0, 0, 0, 0, time.UTC)), Country: 91} // at most a year before the times below
	ledger, stored := &ledger{}, &shelf{}
	s := &grpcapi.Server{Tasks: &submit.Acceptor{Queue: q, Checks: checks, IDs: ids, Observer: uncounted{}},
		Jobs:     &manage.Jobs{Queue: q, Archive: stored, Lease: q.Lease(), Clock: clock.System{}, IDs: ids},
		Consents: consent.NewRecorder(ledger, clock.System{}, 91), Access: access, Send: permission}
	return &site{Server: s, t: t, queue: q, ledger: ledger, archive: stored}
}

func asUser(t *testing.T, lab int64) context.Context {
	return authn.NewContext(t.Context(), authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: lab, LabUserID: 77})
}

func asService(t *testing.T) context.Context {
	return authn.NewContext(t.Context(), authn.Principal{Kind: authn.Service, Caller: "rerun"})
}

func raw(s string) *typev1.RawJSON { return &typev1.RawJSON{Json: []byte(s)} }

func hook() *taskqueuev1.Task {
	return &taskqueuev1.Task{Task: 4, TaskType: 2, Data: raw(`{"url":"https://a.example/x"}`)}
}

func (a *site) enqueue(ctx context.Context, tasks ...*taskqueuev1.Task) []string {
	a.t.Helper()
	out, err := a.Enqueue(ctx, &taskqueuev1.EnqueueRequest{Tasks: tasks})
	if err != nil || out.GetCode() != 200 {
		a.t.Fatalf("got %v, %v, want 200", out, err)
	}
	return out.GetJobIds()
}

func (a *site) info(ctx context.Context, id string) *taskqueuev1.JobInfoResponse {
	a.t.Helper()
	quoted, err := json.Marshal(id)
	if err != nil {
		a.t.Fatal(err)
	}
	out, err := a.JobInfo(ctx, &taskqueuev1.JobInfoRequest{Id: raw(string(quoted))})
	if err != nil {
		a.t.Fatal(err)
	}
	return out
}

// claimed is a job and the token of its lease.
type claimed struct {
	engine.Leased
	token int64
}

// claim claims all jobs of the webhook channel.
func (a *site) claim() (jobs []claimed) {
	a.t.Helper()
	for shard := range job.Shards {
		c, err := a.queue.Claim(a.t.Context(), engine.ClaimRequest{Shard: shard, Channel: job.Webhook, Max: 100, Turn: 1})
		if err == nil {
			err = a.queue.ReadBodies(a.t.Context(), c.Jobs)
		}
		if err != nil {
			a.t.Fatal(err)
		}
		for _, j := range c.Jobs {
			jobs = append(jobs, claimed{j, c.Token})
		}
	}
	return jobs
}

// settle claims all jobs of the webhook channel and ends them with op.
func (a *site) settle(op engine.Op, state job.State) {
	a.t.Helper()
	for _, j := range a.claim() {
		b, err := job.DecodeBody(j.Raw)
		if err != nil {
			a.t.Fatal(err)
		}
		b.Attempts = 1
		r := job.RecordOf(b, state, 1_790_000_000_000)
		r.HTTPStatus = 503
		if _, err := a.queue.Settle(a.t.Context(), j.ID.Shard(), job.Webhook, []engine.Settlement{{ID: j.ID, Token: j.token, Op: op, Payload: r.Encode(nil)}}); err != nil {
			a.t.Fatal(err)
		}
	}
}

func TestIDsComeInRequestOrderAndTheLifeOfAJobIsTold(t *testing.T) {
	t.Parallel()
	a, ctx := open(t, grpcapi.AccessAuthenticated), asUser(t, 12)
	high := hook()
	high.OverridePriority = ptr(int32(2))
	high.LogTag = ptr("tag")
	ids := a.enqueue(ctx, hook(), high, hook())
	job1 := a.info(ctx, ids[1]).GetJob()
	if job1.GetStatus() != "queued" || job1.GetPriority() != 2 || job1.GetLogTag() != "tag" || job1.GetRetry() != 3 || job1.GetId() != ids[1] || job1.Result != nil {
		t.Errorf("job %v", job1)
	}
	if got := a.info(ctx, ids[0]).GetJob().GetPriority(); got != 1 {
		t.Errorf("the first id has priority %d", got)
	}
	a.settle(engine.OpSucceed, job.Finished)
	done := a.info(ctx, ids[0]).GetJob()
	if done.GetStatus() != "finished" || string(done.GetResult().GetJson()) != `{"http_status":503}` || done.GetEndedAt() != "2026-09-21T14:13:20" ||
		len(done.GetAttemptsDetail()) != 1 || done.GetAttemptsDetail()[0].GetOutcome() != "succeeded" {
		t.Errorf("job %v", done)
	}
}

func ptr[T any](v T) *T { return &v }

func TestAnInvalidBatchIsRefusedAsAWholeAndNamesEveryFault(t *testing.T) {
	t.Parallel()
	a, ctx := open(t, grpcapi.AccessAuthenticated), asUser(t, 12)
	_, err := a.Enqueue(ctx, &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{hook(), {Task: 5, TaskType: 1, Data: raw(`{}`)}, {Task: 4, TaskType: 2, Data: raw(`{}`), Retry: ptr(int32(11))}}})
	e, ok := apperr.From(err)
	if !ok || e.Kind != apperr.Invalid {
		t.Fatalf("%v", err)
	}
	var got [][2]any
	for _, f := range e.Fields {
		got = append(got, [2]any{f.Index, f.Name})
	}
	if diff := cmp.Diff([][2]any{{1, "task"}, {2, "retry"}, {2, "data.url"}}, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if jobs := a.claim(); len(jobs) != 0 {
		t.Errorf("%d jobs of a refused batch", len(jobs))
	}
	for name, tasks := range map[string][]*taskqueuev1.Task{"no task": nil, "1,001 tasks": make([]*taskqueuev1.Task, 1001)} {
		if _, err := a.Enqueue(ctx, &taskqueuev1.EnqueueRequest{Tasks: tasks}); !apperr.Is(err, apperr.Invalid) {
			t.Errorf("%s: got %v, want kind Invalid", name, err)
		}
	}
}

func TestAUserSeesOnlyJobsOfTheOwnLaboratory(t *testing.T) {
	t.Parallel()
	a := open(t, grpcapi.AccessAuthenticated)
	id := a.enqueue(asUser(t, 12), hook())[0]
	service := a.enqueue(asService(t), hook())[0]
	stranger := asUser(t, 13)
	for _, one := range []string{id, service} {
		if out := a.info(stranger, one); out.GetCode() != 401 || out.GetMessage() != "Job not found" || out.GetJob() != nil {
			t.Errorf("info %v", out)
		}
		if out, err := a.CancelJob(stranger, &taskqueuev1.CancelJobRequest{JobId: raw(`["` + one + `"]`)}); err != nil || out.GetCode() != 401 || len(out.GetNotFound()) != 1 {
			t.Errorf("cancel %v, %v", out, err)
		}
		if out, err := a.RescheduleJob(stranger, &taskqueuev1.RescheduleJobRequest{JobId: &one, RescAt: ptr(later())}); err != nil || out.GetCode() != 401 {
			t.Errorf("move %v, %v", out, err)
		}
	}
	a.settle(engine.OpFail, job.Failed)
	if out, err := a.RetryTask(stranger, &taskqueuev1.RetryTaskRequest{Jobs: []*taskqueuev1.RetryTarget{{JobId: id}}}); err != nil || out.GetCode() != 401 || len(out.GetJobIds()) != 0 {
		t.Errorf("retry %v, %v", out, err)
	}
	if out := a.info(asService(t), id); out.GetCode() != 200 {
		t.Errorf("a service sees all: %v", out)
	}
	named := &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{hook()}, LabId: ptr(int64(13))}
	if _, err := a.Enqueue(asUser(t, 12), named); !apperr.Is(err, apperr.Invalid) {
		t.Errorf("a user who names another laboratory: %v", err)
	}
	out, err := a.Enqueue(asService(t), named)
	if err != nil || a.info(stranger, out.GetJobIds()[0]).GetCode() != 200 {
		t.Errorf("a job that a service attributed to the laboratory: %v", err)
	}
}

func TestAccessSettings(t *testing.T) {
	t.Parallel()
	in := &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{hook()}}
	for access, want := range map[grpcapi.Access][3]string{ // results for anonymous callers, users and services
		grpcapi.AccessAuthenticated: {"unauthenticated", "ok", "ok"}, grpcapi.AccessOpen: {"ok", "ok", "ok"}, grpcapi.AccessOff: {"forbidden", "forbidden", "ok"},
	} {
		a := open(t, access)
		for i, ctx := range []context.Context{t.Context(), asUser(t, 12), asService(t)} {
			_, err := a.Enqueue(ctx, in)
			got := map[bool]string{true: "ok"}[err == nil]
			switch {
			case apperr.Is(err, apperr.Unauthenticated):
				got = "unauthenticated"
			case apperr.Is(err, apperr.Forbidden):
				got = "forbidden"
			}
			if got != want[i] {
				t.Errorf("%s, caller %d: %s, %v", access, i, got, err)
			}
		}
	}
	if len(grpcapi.AnonymousMethods(grpcapi.AccessOpen)) != 8 || grpcapi.AnonymousMethods(grpcapi.AccessAuthenticated) != nil {
		t.Error("methods without a credential")
	}
}

func TestScheduleMoveCancelAndRetryAnswerWithTheDocumentedCodes(t *testing.T) {
	t.Parallel()
	a, ctx := open(t, grpcapi.AccessAuthenticated), asUser(t, 12)
	scheduled := &taskqueuev1.ScheduledTask{SchTime: "2034-07-01T00:00:00", Task: 4, TaskType: 2, Data: raw(`{"url":"https://a.example/x"}`)}
	out, err := a.Schedule(ctx, &taskqueuev1.ScheduleRequest{Tasks: []*taskqueuev1.ScheduledTask{scheduled}})
	if err != nil {
		t.Fatal(err)
	}
	id := out.GetJobIds()[0]
	if j := a.info(ctx, id).GetJob(); j.GetStatus() != "scheduled" || j.GetScheduledAt() != "2034-07-01T00:00:00" {
		t.Errorf("job %v", j)
	}
	newTime := later()
	moved, err := a.RescheduleJob(ctx, &taskqueuev1.RescheduleJobRequest{JobId: &id, RescAt: &newTime})
	if err != nil || moved.GetCode() != 200 || moved.GetJobId() != id || a.info(ctx, id).GetJob().GetScheduledAt() != newTime {
		t.Errorf("move %v, %v", moved, err)
	}
	if _, err := a.RescheduleJob(ctx, &taskqueuev1.RescheduleJobRequest{JobId: &id, RescAt: ptr("tomorrow")}); !apperr.Is(err, apperr.Invalid) {
		t.Errorf("a move to nowhere: %v", err)
	}
	cancelled, err := a.CancelJob(ctx, &taskqueuev1.CancelJobRequest{JobId: raw(`["` + id + `","unknown"]`)})
	if err != nil || cancelled.GetCode() != 401 || len(cancelled.GetCancelled()) != 1 || len(cancelled.GetNotFound()) != 1 {
		t.Errorf("cancel %v, %v", cancelled, err)
	}
	if late, err := a.RescheduleJob(ctx, &taskqueuev1.RescheduleJobRequest{Id: &id, RescAt: ptr(later())}); err != nil || late.GetCode() != 401 {
		t.Errorf("a move of a cancelled job: %v, %v", late, err)
	}
	failed := a.enqueue(ctx, hook())[0]
	a.settle(engine.OpFail, job.Failed)
	before := now()
	retried, err := a.RetryTask(ctx, &taskqueuev1.RetryTaskRequest{Jobs: []*taskqueuev1.RetryTarget{{JobId: failed}, {JobId: id}}})
	if err != nil || retried.GetCode() != 200 || retried.GetJobIds()[0] != failed || len(retried.GetNotFound()) != 1 {
		t.Errorf("retry %v, %v", retried, err)
	}
	j := a.info(ctx, failed).GetJob()
	at, err := time.Parse(task.TimeLayout, j.GetScheduledAt())
	if err != nil || j.GetStatus() != "scheduled" || j.GetAttempts() != 0 || at.Before(before.Add(119*time.Second)) || at.After(now().Add(121*time.Second)) {
		t.Errorf("job %v, %v", j, err)
	}
}

func now() time.Time { return clock.System{}.Now() }

func TestWindowsJoinOverrideAndBelongToALaboratory(t *testing.T) {
	t.Parallel()
	a := open(t, grpcapi.AccessAuthenticated)
	schedule := func(lab int64, at, url string, override bool, n int) []string {
		t.Helper()
		in := &taskqueuev1.ScheduleRequest{}
		for range n {
			s := &taskqueuev1.ScheduledTask{SchTime: at, Task: 4, TaskType: 2, Data: raw(`{"url":"https://` + url + `"}`), WindowDelay: ptr("callout_9")}
			if override {
				s.OverrideWindow = ptr(int32(1))
			}
			in.Tasks = append(in.Tasks, s)
		}
		out, err := a.Schedule(asUser(t, lab), in)
		if err != nil {
			t.Fatal(err)
		}
		return out.GetJobIds()
	}
	first := schedule(12, "2034-07-01T00:00:00", "one.example", false, 2)
	if first[0] != first[1] {
		t.Errorf("two tasks of one window in one request: %v", first)
	}
	if again := schedule(12, "2035-01-01T00:00:00", "two.example", false, 1); again[0] != first[0] {
		t.Errorf("join made %v", again)
	}
	j := a.info(asUser(t, 12), first[0]).GetJob()
	if j.GetScheduledAt() != "2034-07-01T00:00:00" || j.GetWindowKey() != "callout_9" {
		t.Errorf("job %v", j)
	}
	if over := schedule(12, "2035-01-01T00:00:00", "three.example", true, 1); over[0] != first[0] {
		t.Errorf("override made %v", over)
	}
	s, err := a.queue.Info(t.Context(), []job.ID{job.ID(first[0])})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := job.DecodeBody(s[0].Body); err != nil || !strings.Contains(string(b.Data), "three.example") {
		t.Errorf("override kept %s, %v", b.Data, err)
	}
	if other := schedule(13, "2034-07-01T00:00:00", "one.example", false, 1); other[0] == first[0] {
		t.Error("another laboratory joined the window")
	}
}

func TestInfoAcceptsAListAndItsAlias(t *testing.T) {
	t.Parallel()
	a, ctx := open(t, grpcapi.AccessAuthenticated), asUser(t, 12)
	ids := a.enqueue(ctx, hook(), hook())
	out, err := a.JobInfo(ctx, &taskqueuev1.JobInfoRequest{JobId: raw(`["` + ids[1] + `","nope","` + ids[0] + `"]`)})
	if err != nil || out.GetCode() != 401 || len(out.GetJobs()) != 2 || out.GetJobs()[0].GetId() != ids[1] || out.GetNotFound()[0] != "nope" {
		t.Errorf("%v, %v", out, err)
	}
	for _, bad := range []*typev1.RawJSON{nil, raw(`5`), raw(`{}`), raw(`[1]`)} {
		if _, err := a.JobInfo(ctx, &taskqueuev1.JobInfoRequest{Id: bad}); !apperr.Is(err, apperr.Invalid) {
			t.Errorf("%s: got %v, want kind Invalid", bad.GetJson(), err)
		}
	}
}

func TestAJobThatRedisForgotComesFromTheArchiveForItsLaboratoryOnly(t *testing.T) {
	t.Parallel()
	a := open(t, grpcapi.AccessAuthenticated)
	ids := a.enqueue(asUser(t, 12), hook())
	const id = "00a01BX5ZZKBKACTAV9WEVGEMMVRZ"
	a.archive.records = map[job.ID]*job.Record{id: {State: job.Finished, LabID: 12, Task: 4, Attempts: 1, EndedMs: 1_790_000_000_000}}
	if got := a.info(asUser(t, 12), id); got.GetCode() != 200 || got.GetJob().GetStatus() != "finished" || got.GetJob().GetEndedAt() != "2026-09-21T14:13:20" {
		t.Errorf("own: %v", got)
	}
	if got := a.info(asUser(t, 13), id); got.GetCode() != 401 || got.GetJob() != nil {
		t.Errorf("another laboratory: %v", got)
	}
	if got := a.info(asService(t), id); got.GetCode() != 200 {
		t.Errorf("a service: %v", got)
	}
	a.archive.records, a.archive.err = nil, errors.New("away")
	if got := a.info(asUser(t, 12), ids[0]); got.GetJob().GetStatus() != "queued" {
		t.Errorf("a live job needs no archive: %v", got)
	}
	if _, err := a.JobInfo(asUser(t, 12), &taskqueuev1.JobInfoRequest{Id: raw(`"` + id + `"`)}); !apperr.Is(err, apperr.Unavailable) {
		t.Errorf("no one can say that it does not exist: %v", err)
	}
	if got := a.info(asUser(t, 12), "no id"); got.GetCode() != 401 {
		t.Errorf("a text that is no id: %v", got)
	}
}

func TestMappingsAreOneJobEachAndWrongOnesAreNamed(t *testing.T) {
	t.Parallel()
	a, ctx := open(t, grpcapi.AccessAuthenticated), asUser(t, 12)
	out, err := a.Mapping(ctx, &taskqueuev1.MappingRequest{Mappings: []*taskqueuev1.DictionaryMapping{
		{Keyword: "hb", Data: raw(`{"a":1}`)}, {Keyword: "wbc", Data: raw(`{}`)}, {Keyword: "hb", Data: raw(`{"a":2}`)}}})
	if err != nil || out.GetCode() != 200 || len(out.GetJobIds()) != 3 {
		t.Fatalf("%v, %v", out, err)
	}
	if got := a.info(ctx, out.GetJobIds()[0]).GetJob(); got.GetTask() != 0 || got.GetStatus() != "queued" {
		t.Errorf("%v", got)
	}
	if got := a.info(asUser(t, 13), out.GetJobIds()[0]); got.GetCode() != 401 {
		t.Errorf("another laboratory: %v", got)
	}
	for want, in := range map[string][]*taskqueuev1.DictionaryMapping{"mappings": nil, "keyword": {{Data: raw(`{}`)}}, "data": {{Keyword: "k"}, {Keyword: "k", Data: raw(`[1]`)}}} {
		_, err := a.Mapping(ctx, &taskqueuev1.MappingRequest{Mappings: in})
		e, ok := apperr.From(err)
		if !ok || e.Kind != apperr.Invalid || len(e.Fields) != max(1, len(in)) || e.Fields[0].Name != want {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := a.Enqueue(ctx, &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{{Task: 0, Data: raw(`{"keyword":"k","data":{}}`)}}}); !apperr.Is(err, apperr.Invalid) {
		t.Errorf("task 0 through /queue/: %v", err)
	}
}

func TestAConsentIsRecordedAsSentForTheCallersLaboratory(t *testing.T) {
	t.Parallel()
	a := open(t, grpcapi.AccessAuthenticated)
	kind, key := "optin", "wa:1"
	in := &taskqueuev1.UpdateConsentRequest{Type: &kind, CacheKey: &key, DetailsObj: raw(`{"source":"desk","contact":9812345678,"countryCode":"91","ip":7}`)}
	out, err := a.UpdateConsent(asUser(t, 12), in)
	if err != nil || out.GetCode() != 200 || out.GetMessage() != "Consent updated successfully" {
		t.Fatalf("%v, %v", out, err)
	}
	got := a.ledger.last
	sum := sha256.Sum256([]byte("+919812345678"))
	if got.LabID != 12 || got.Type != "optin" || got.CacheKey != key || got.Actor != "user:77" || got.Source != "desk" || got.IP != "" ||
		!bytes.Equal(got.RecipientHash, sum[:]) {
		t.Errorf("%+v", got)
	}
	maybe := "maybe"
	for want, wrong := range map[string]*taskqueuev1.UpdateConsentRequest{"type": {CacheKey: &key}, "cache_key": {Type: &kind}, "details_obj": {Type: &kind, CacheKey: &key, DetailsObj: raw(`[]`)}} {
		_, err := a.UpdateConsent(asUser(t, 12), wrong)
		if e, ok := apperr.From(err); !ok || e.Kind != apperr.Invalid || e.Fields[0].Name != want {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := a.UpdateConsent(asUser(t, 12), &taskqueuev1.UpdateConsentRequest{Type: &maybe, CacheKey: &key}); !apperr.Is(err, apperr.Invalid) {
		t.Errorf("an unknown type: %v", err)
	}
}

// later returns a time to which a job may be moved.
func later() string { return now().AddDate(0, 6, 0).UTC().Format(task.TimeLayout) }
