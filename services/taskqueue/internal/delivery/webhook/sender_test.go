package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/circuit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/webhook"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mailbox"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker/workertest"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

type received struct {
	Method, Path, Query, Body string
	Header                    http.Header
}

// fixture is a sender with one receiver.
type fixture struct {
	*httptest.Server
	t      *testing.T
	sender *webhook.Sender

	mu       sync.Mutex // guards the fields below
	seen     []received
	recorded []mailbox.Message
}

func (b *fixture) requests() []received {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.seen)
}

type tokens struct{}

func (tokens) Mint(audience, behalf string) (string, error) { return audience + "/" + behalf, nil }

func (b *fixture) Record(m mailbox.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.recorded = append(b.recorded, m)
}

func newFixture(t *testing.T, internal bool, answer http.HandlerFunc) *fixture {
	t.Helper()
	b := &fixture{t: t}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b.mu.Lock()
		b.seen = append(b.seen, received{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Body: string(body), Header: r.Header.Clone()})
		b.mu.Unlock()
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(b.Close)
	var origins []string
	if internal {
		origins = []string{b.URL}
	}
	targets, err := webhook.NewTargets(origins, netguard.Config{AllowedHosts: []string{"127.0.0.1"}}, netguard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	signer, err := webhook.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	b.sender = webhook.New(webhook.Config{Targets: targets, Webhooks: signer, Callbacks: signer, Tokens: tokens{}, Recorder: b,
		Clock: clock.Fixed(time.Unix(1_790_000_000, 0)), HostConcurrency: 4,
		Circuits: circuit.New(workertest.NewQueue())})
	return b
}

func newID(t *testing.T, c job.Channel) job.ID {
	t.Helper()
	id := job.NewGenerator(clock.System{}).Next(0, job.Lane{Channel: c, Priority: job.Moderate})
	return id
}

func (b *fixture) send(taskType int, data map[string]any, edit func(*job.Body)) (job.Result, error) {
	b.t.Helper()
	raw, err := json.Marshal(data)
	if err != nil {
		b.t.Fatal(err)
	}
	body := &job.Body{Task: 4, TaskType: taskType, LabID: 12, Caller: "user:77", Data: raw}
	if edit != nil {
		edit(body)
	}
	return b.sender.Handle(b.t.Context(), worker.Delivery{ID: newID(b.t, job.Webhook), Body: body, Attempt: 1})
}

func TestMethodsBodiesAndQueryStrings(t *testing.T) {
	t.Parallel()
	args := json.RawMessage(`{"z":1, "a":"é & b","n":null,"l":[1,2]}`)
	const query = "q=1&a=%C3%A9+%26+b&l=%5B1%2C2%5D&n=&z=1"
	for name, c := range map[string]struct {
		taskType int
		isBody   any
		want     received
	}{
		"GET sends a query":                  {task.WebhookGet, nil, received{Method: "GET", Query: query}},
		"POST sends a body":                  {task.WebhookPost, nil, received{Method: "POST", Query: "q=1", Body: string(args)}},
		"PUT sends a body":                   {task.WebhookPut, 1, received{Method: "PUT", Query: "q=1", Body: string(args)}},
		"DELETE sends a query":               {task.WebhookDelete, nil, received{Method: "DELETE", Query: query}},
		"POST with isBody 0 sends a query":   {task.WebhookPost, 0, received{Method: "POST", Query: query}},
		"DELETE with isBody 1 sends a body":  {task.WebhookDelete, "1", received{Method: "DELETE", Query: "q=1", Body: string(args)}},
		"isBody true is the same as a digit": {task.WebhookPut, true, received{Method: "PUT", Query: "q=1", Body: string(args)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, false, nil)
			raw := `{"url":"` + b.URL + `/hook?q=1","args":` + string(args)
			if c.isBody != nil {
				flag, err := json.Marshal(c.isBody)
				if err != nil {
					t.Fatal(err)
				}
				raw += `,"isBody":` + string(flag)
			}
			result, err := b.send(c.taskType, nil, func(j *job.Body) { j.Data = []byte(raw + "}") })
			if err != nil || result.HTTPStatus != 200 || !result.Sent {
				t.Fatalf("%+v, %v", result, err)
			}
			got := b.requests()[0]
			got.Header = nil
			c.want.Path = "/hook"
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswersAreClassified(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status     int
		retryAfter string
		permanent  bool
		after      time.Duration
	}{
		{301, "", true, 0}, {302, "", true, 0}, {400, "", true, 0}, {401, "", true, 0}, {404, "", true, 0}, {409, "", true, 0}, {410, "", true, 0},
		{422, "", true, 0}, {408, "", false, 0}, {425, "", false, 0}, {429, "7", false, 7 * time.Second}, {500, "", false, 0}, {502, "", false, 0},
		{503, "Mon, 21 Sep 2026 13:33:30 GMT", false, 10 * time.Second}, {429, "-5", false, 0}, {429, "soon", false, 0},
	} {
		b := newFixture(t, false, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", c.retryAfter)
			w.Header().Set("Location", "http://169.254.169.254/")
			w.WriteHeader(c.status)
		})
		if c.retryAfter == "Mon, 21 Sep 2026 13:33:30 GMT" {
			c.after = time.Date(2026, 9, 21, 13, 33, 30, 0, time.UTC).Sub(time.Unix(1_790_000_000, 0))
		}
		result, err := b.send(task.WebhookPost, map[string]any{"url": b.URL}, nil)
		failure := job.AsFailure(err)
		if err == nil || failure.Permanent != c.permanent || failure.RetryAfter != max(0, c.after) || result.HTTPStatus != c.status {
			t.Errorf("%d: %+v, result %+v", c.status, failure, result)
		}
		if len(b.requests()) != 1 {
			t.Errorf("%d: %d requests", c.status, len(b.requests()))
		}
	}
}

func TestACallbackIsRetriedForEveryAnswerButGone(t *testing.T) {
	t.Parallel()
	for status, permanent := range map[int]bool{200: false, 404: false, 409: false, 302: false, 500: false, 410: true} {
		b := newFixture(t, false, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		_, err := b.sender.Handle(t.Context(), worker.Delivery{ID: newID(t, job.Callback), Attempt: 1,
			Body: &job.Body{Task: 4, TaskType: 2, Data: []byte(`{"job_id":"x"}`), Target: b.URL + "/cb"}})
		if (err == nil) != (status == 200) || (err != nil && job.AsFailure(err).Permanent != permanent) {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestSignaturesAreStandardWebhooksOverTheExactBytes(t *testing.T) {
	t.Parallel()
	b := newFixture(t, false, nil)
	id := newID(t, job.Callback)
	body := `{"job_id":"x","status":"finished"}`
	if _, err := b.sender.Handle(t.Context(), worker.Delivery{ID: id, Attempt: 1, Body: &job.Body{Data: []byte(body), Target: b.URL}}); err != nil {
		t.Fatal(err)
	}
	h := b.requests()[0].Header
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(string(id) + ".1790000000." + body))
	plain := hmac.New(sha256.New, key)
	plain.Write([]byte(body))
	want := map[string]string{"Webhook-Id": string(id), "Webhook-Timestamp": "1790000000", "X-Job-Id": string(id), "Idempotency-Key": string(id),
		"Webhook-Signature": "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)),
		"X-Task-Signature":  "sha256=" + hex.EncodeToString(plain.Sum(nil)), "Content-Type": "application/json"}
	for name, value := range want {
		if h.Get(name) != value {
			t.Errorf("%s is %q, want %q", name, h.Get(name), value)
		}
	}
	if b.requests()[0].Method != http.MethodPost || b.requests()[0].Body != body {
		t.Errorf("%s %q", b.requests()[0].Method, b.requests()[0].Body)
	}
}

// TestTheSpecificationsVector checks the test vector of the Standard Webhooks specification.
func TestTheSpecificationsVector(t *testing.T) {
	t.Parallel()
	signer, err := webhook.NewSigner(secret + ", whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD")
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	signer.Sign(h, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	list := strings.Fields(h.Get("webhook-signature"))
	if len(list) != 2 || list[0] != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("signatures %q", list)
	}
	for _, bad := range []string{"short", "whsec_***", "whsec_c2hvcnQ="} {
		if _, err := webhook.NewSigner(bad); err == nil {
			t.Errorf("secret %q was accepted", bad)
		}
	}
}

func TestInternalOriginsGetATokenAndOnlyForInternalEnqueuers(t *testing.T) {
	t.Parallel()
	b := newFixture(t, true, nil)
	data := map[string]any{"url": b.URL + "/api-v3/sample-rerun/1/request", "args": map[string]int{"a": 1}}
	headers := func(j *job.Body) {
		j.Headers = []byte(`{"Authorization":"Bearer stolen","x-is-internal-request":"True","X-Custom":"kept"}`)
	}
	if _, err := b.send(task.WebhookPost, data, headers); !job.AsFailure(err).Permanent || len(b.requests()) != 0 {
		t.Fatalf("a user's job reached the platform: %v", err)
	}
	if _, err := b.send(task.WebhookPost, data, func(j *job.Body) { headers(j); j.Internal, j.Caller = true, "service:rerun" }); err != nil {
		t.Fatal(err)
	}
	h := b.requests()[0].Header
	if diff := cmp.Diff([]string{"Bearer gateway/rerun"}, h.Values("Authorization")); diff != "" {
		t.Errorf("authorization (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"True"}, h.Values("X-Is-Internal-Request")); diff != "" || h.Get("X-Custom") != "kept" {
		t.Errorf("headers %v", h)
	}
	for _, header := range b.recorded[len(b.recorded)-1].Headers {
		if header.Name == "Authorization" && header.Value != "***" {
			t.Error("the outbox shows a token")
		}
	}
}

func TestReservedHeadersOfUsersAreDropped(t *testing.T) {
	t.Parallel()
	b := newFixture(t, false, nil)
	_, err := b.send(task.WebhookPost, map[string]any{"url": b.URL}, func(j *job.Body) {
		j.Headers = []byte(`{"X-Is-Internal-Request":"True","Host":"evil","Connection":"close","X-Forwarded-For":"1.2.3.4","webhook-id":"x","Proxy-Authorization":"x","grpc-timeout":"1S","Cookie":"a=b","Authorization":"Bearer mine"}`)
	})
	if err != nil {
		t.Fatal(err)
	}
	h := b.requests()[0].Header
	for _, name := range []string{"X-Is-Internal-Request", "X-Forwarded-For", "Proxy-Authorization", "Grpc-Timeout", "Cookie"} {
		if h.Get(name) != "" {
			t.Errorf("%s passed", name)
		}
	}
	if h.Get("Authorization") != "Bearer mine" || h.Get("Webhook-Id") == "x" {
		t.Errorf("headers %v", h)
	}
}

func TestPrivateAddressesAreRefusedForGood(t *testing.T) {
	t.Parallel()
	b := newFixture(t, false, nil)
	for _, raw := range []string{"http://169.254.169.254/latest", "https://10.0.0.1/", "https://[::1]/", "https://2130706433/"} {
		_, err := b.send(task.WebhookPost, map[string]any{"url": raw}, nil)
		if err == nil || !job.AsFailure(err).Permanent {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestATimeoutIsRetryableAndNamesNoAddress(t *testing.T) {
	t.Parallel()
	b := newFixture(t, false, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	_, err := b.send(task.WebhookPost, map[string]any{"url": b.URL, "timeout": 1}, nil)
	failure := job.AsFailure(err)
	if failure.Permanent || failure.Reason != "timeout" || !errors.Is(err, context.DeadlineExceeded) || strings.Contains(failure.Message, "127") {
		t.Errorf("%+v", failure)
	}
}

func TestAHostThatKeepsFailingIsPausedAndABusyOnePostponed(t *testing.T) {
	t.Parallel()
	b := newFixture(t, false, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	for range 15 {
		if _, err := b.send(task.WebhookPost, map[string]any{"url": b.URL}, nil); err == nil {
			t.Fatal("500 succeeded")
		}
	}
	if len(b.requests()) != 10 {
		t.Errorf("%d requests reached the failing host, want 10", len(b.requests()))
	}
	release := make(chan struct{})
	busy := newFixture(t, false, func(http.ResponseWriter, *http.Request) { <-release })
	started := make(chan error, 4)
	for range 4 {
		go func() {
			_, err := busy.send(task.WebhookPost, map[string]any{"url": busy.URL}, nil)
			started <- err
		}()
	}
	await.Nil(t, "four requests under way", func() error {
		if seen := len(busy.requests()); seen < 4 {
			return fmt.Errorf("%d arrived", seen)
		}
		return nil
	})
	_, err := busy.send(task.WebhookPost, map[string]any{"url": busy.URL}, nil)
	if failure := job.AsFailure(err); !failure.Postponed {
		t.Errorf("a fifth request: %+v", failure)
	}
	close(release)
	for range 4 {
		if err := <-started; err != nil {
			t.Error(err)
		}
	}
}

func TestTheExcerptIsTextAndAtMostOneKibibyte(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]int{"text/plain; charset=utf-8": 1023, "application/json": 1023, "image/png": 0} {
		b := newFixture(t, false, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, "x"+strings.Repeat("é", 4000))
		})
		result, err := b.send(task.WebhookPost, map[string]any{"url": b.URL}, nil)
		if err != nil || len(result.Excerpt) != want {
			t.Errorf("%s: %d bytes kept, %v", kind, len(result.Excerpt), err)
		}
	}
}

func TestAPausedReceiverPostponesAndNeverFailsAJobWithoutARequest(t *testing.T) {
	t.Parallel()
	b := newFixture(t, false, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	var last error
	for range 12 {
		_, last = b.send(task.WebhookPost, map[string]any{"url": b.URL + "/hook"}, nil)
	}
	failure := job.AsFailure(last)
	if !failure.Postponed || failure.RetryAfter.Round(time.Second) != 30*time.Second {
		t.Errorf("got %+v", failure)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.seen) != 10 {
		t.Errorf("%d requests", len(b.seen))
	}
}

// TestWhatAsksForTimeIsLeftAloneAndNothingBesideIt: a receiver requests a pause of one minute. Only requests of the
// same laboratory and class of path may be paused.
func TestWhatAsksForTimeIsLeftAloneAndNothingBesideIt(t *testing.T) {
	t.Parallel()
	b := newFixture(t, false, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/bill/") && r.URL.Query().Get("lab") != "13" {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	send := func(lab int64, path string) *job.Failure {
		_, err := b.send(task.WebhookPost, map[string]any{"url": b.URL + path}, func(body *job.Body) { body.LabID = lab })
		if err == nil {
			return nil
		}
		return job.AsFailure(err)
	}
	if f := send(12, "/bill/1/paid"); f == nil || f.Postponed || f.To == "" {
		t.Fatalf("the first one: %+v", f)
	}
	if f := send(12, "/bill/2/paid"); f == nil || !f.Recovers || f.To == "" || f.RetryAfter.Round(time.Second) != time.Minute {
		t.Errorf("the second one: %+v", f)
	}
	if len(b.requests()) != 1 {
		t.Errorf("%d requests", len(b.requests()))
	}
	if other, lab := send(12, "/report"), send(13, "/bill/3/paid?lab=13"); other != nil || lab != nil {
		t.Errorf("another path %+v, another laboratory %+v", other, lab)
	}
}
