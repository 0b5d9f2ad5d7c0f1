package whatsapp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/whatsapp"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

const jobID = job.ID("00C01KABCDEFGHJKMNPQRSTVWXYZ0")

type fixed time.Time

func (f fixed) Now() time.Time { return time.Time(f) }

// graph is a fake of the Graph API. It responds with the queued replies, then with success.
type graph struct {
	*httptest.Server

	mu      sync.Mutex
	replies []func(http.ResponseWriter)
	bodies  []string
}

func serve(t *testing.T) *graph {
	t.Helper()
	g := &graph{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v23.0/1055/messages" || r.Header.Get("Authorization") != "Bearer s3cret" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.bodies = append(g.bodies, string(raw))
		if len(g.replies) > 0 {
			reply := g.replies[0]
			g.replies = g.replies[1:]
			if reply != nil {
				reply(w)
				return
			}
		}
		_, _ = fmt.Fprintf(w, `{"messaging_product":"whatsapp","messages":[{"id":"wamid.%d"}]}`, len(g.bodies))
	}))
	t.Cleanup(g.Close)
	return g
}

// next queues replies; nil means success.
func (g *graph) next(list ...func(http.ResponseWriter)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.replies = list
}

func (g *graph) took() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.bodies
	g.bodies = nil
	return list
}

func fault(status, code int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error":{"message":"about 919812345678","type":"OAuthException","code":%d,"error_data":{"details":"Asha"}}}`, code)
	}
}

func dropped(http.ResponseWriter) { panic(http.ErrAbortHandler) }

func newProvider(t *testing.T, g *graph) *whatsapp.Provider {
	t.Helper()
	client := netguard.New(netguard.Config{AllowHTTP: true, AllowedHosts: []string{"127.0.0.1"}})
	t.Cleanup(client.Close)
	p, err := whatsapp.New([]byte(`{"kind":"graph","phone_number_id":"1055","token_secret":"token","base_url":"`+g.URL+`"}`), provider.Deps{API: client,
		Clock: fixed(time.Unix(0, 0)), Secrets: provider.Directory{Root: fstest.MapFS{"token": {Data: []byte("s3cret")}}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func delivery(data string) worker.Delivery {
	return worker.Delivery{ID: jobID, Body: &job.Body{Task: 6, TaskType: 2, LabID: 12, Data: []byte(data)}}
}

const simple = `{"contact":9812345678,"countryCode":91,"message":"ready"}`

func TestTasksBecomeMessagesOfTheInterface(t *testing.T) {
	t.Parallel()
	g := serve(t)
	p := newProvider(t, g)
	wrap := func(kind, rest string) string {
		return `{"messaging_product":"whatsapp","recipient_type":"individual","to":"919812345678","type":"` + kind + `",` + rest + `,"biz_opaque_callback_data":"` + string(jobID) + `"}`
	}
	long := strings.Repeat("न", 1025)
	for _, c := range []struct {
		name, data string
		want       []string
	}{
		{"text", simple, []string{wrap("text", `"text":{"body":"ready"}`)}},
		{"template", `{"contact":"09812345678","countryCode":91,"template":"report_ready","params":["Asha","42"],"files":["https://x.test/r/report.pdf?sig=1"],"file_name":"Report.pdf"}`,
			[]string{wrap("template", `"template":{"name":"report_ready","language":{"code":"en"},"components":[{"type":"header","parameters":[{"type":"document","document":{"link":"https://x.test/r/report.pdf?sig=1","filename":"Report.pdf"}}]},{"type":"body","parameters":[{"type":"text","text":"Asha"},{"type":"text","text":"42"}]}]}`)}},
		{"template with a picture, other language", `{"contact":"+919812345678","template":"t","language":"hi","files":["https://x.test/a.PNG"]}`,
			[]string{wrap("template", `"template":{"name":"t","language":{"code":"hi"},"components":[{"type":"header","parameters":[{"type":"image","image":{"link":"https://x.test/a.PNG"}}]}]}`)}},
		{"text beside files", `{"contact":"+919812345678","message":"ready","files":["https://x.test/a.pdf","https://x.test/b.pdf"],"file_name":"A.pdf"}`,
			[]string{wrap("document", `"document":{"link":"https://x.test/a.pdf","filename":"A.pdf","caption":"ready"}`), wrap("document", `"document":{"link":"https://x.test/b.pdf","filename":"b.pdf"}`)}},
		{"text too long for a caption", `{"contact":"+919812345678","message":"` + long + `","files":["https://x.test/a.pdf"],"file_name":"A.pdf"}`,
			[]string{wrap("text", `"text":{"body":"`+long+`"}`), wrap("document", `"document":{"link":"https://x.test/a.pdf","filename":"A.pdf"}`)}},
	} {
		result, err := p.Handle(t.Context(), delivery(c.data))
		if err != nil || result.MessageID != "wamid.1" || !result.Sent || result.HTTPStatus != 200 {
			t.Errorf("%s: %+v, %v", c.name, result, err)
		}
		if diff := cmp.Diff(c.want, g.took()); diff != "" {
			t.Errorf("%s: got %s, want none", c.name, diff)
		}
	}
}

func TestErrorsOfTheInterfaceHaveTheirClass(t *testing.T) {
	t.Parallel()
	g := serve(t)
	p := newProvider(t, g)
	for _, c := range []struct {
		name         string
		status, code int
		want         string
	}{
		{"throughput", 429, 130429, "postponed"}, {"pair limit", 400, 131056, "postponed"}, {"spam limit", 400, 131048, "postponed"}, {"application limit", 400, 4, "postponed"},
		{"their trouble", 500, 131000, "retry"}, {"unavailable", 503, 131016, "retry"}, {"maintenance", 500, 131057, "retry"},
		{"no WhatsApp there", 400, 131026, "permanent"}, {"window closed", 400, 131047, "permanent"}, {"opted out", 400, 131050, "permanent"},
		{"no such template", 404, 132001, "permanent"}, {"parameters", 400, 132000, "permanent"}, {"bad parameter", 400, 100, "permanent"},
		{"token ended", 401, 190, "elsewhere"}, {"permission", 403, 200, "elsewhere"}, {"locked", 403, 131031, "elsewhere"}, {"payment", 400, 131042, "elsewhere"},
		{"template paused", 400, 132015, "elsewhere"}, {"number not registered", 400, 133010, "elsewhere"},
		{"unknown code", 400, 999999, "permanent"}, {"no code", 403, 0, "elsewhere"}, {"gateway", 502, 0, "unknown"}, {"broken", 500, 0, "retry"},
	} {
		g.next(fault(c.status, c.code))
		result, err := p.Handle(t.Context(), delivery(simple))
		if provider.Outcome(err) != c.want || result.Sent != (c.want == "unknown") || result.HTTPStatus != c.status {
			t.Errorf("%s: %s %+v (%v), want %s", c.name, provider.Outcome(err), result, err, c.want)
		}
		// A paused template of one laboratory, and the limit of one recipient, must not pause the provider.
		if of := c.name == "template paused" || c.name == "pair limit"; job.AsFailure(err).OfMessage != of {
			t.Errorf("%s: a failure of the message alone: %t, want %t", c.name, !of, of)
		}
		if strings.Contains(err.Error(), "9812345678") || strings.Contains(err.Error(), "Asha") {
			t.Errorf("%s: the error tells about the patient: %v", c.name, err)
		}
		if f := job.AsFailure(err); f.Reason == provider.RateLimited && f.RetryAfter != 5*time.Second {
			t.Errorf("%s: waits %s", c.name, f.RetryAfter)
		}
	}
}

func TestALostAnswerIsDoubt(t *testing.T) {
	t.Parallel()
	g := serve(t)
	g.next(dropped)
	result, err := newProvider(t, g).Handle(t.Context(), delivery(simple))
	if provider.Outcome(err) != "unknown" || !result.Sent || len(g.took()) != 1 {
		t.Errorf("%s %+v", provider.Outcome(err), result)
	}
}

func TestARetrySendsOnlyTheFilesThatAreLeft(t *testing.T) {
	t.Parallel()
	g := serve(t)
	p := newProvider(t, g)
	d := delivery(`{"contact":"+919812345678","message":"m","files":["https://x.test/a.pdf","https://x.test/b.pdf","https://x.test/c.pdf"]}`)
	g.next(nil, fault(503, 131016))
	result, err := p.Handle(t.Context(), d)
	if provider.Outcome(err) != "retry" || !result.Sent || len(g.took()) != 2 {
		t.Fatalf("%s %+v", provider.Outcome(err), result)
	}
	d.Body.Progress = result.Progress // stored for the retry, as by the worker
	result, err = p.Handle(t.Context(), d)
	got := g.took()
	if err != nil || !result.Sent || len(got) != 2 || !strings.Contains(got[0], "b.pdf") || !strings.Contains(got[1], "c.pdf") {
		t.Errorf("%+v, %v, %v", result, err, got)
	}
}

// ledger is a fake Consent. The test sets its result.
type ledger struct {
	allowed map[string]bool
	err     error
}

func (l ledger) Allowed(_ context.Context, labID int64, key string) (bool, error) {
	return l.allowed[fmt.Sprintf("%d/%s", labID, key)], l.err
}

func TestNothingIsSentWithoutConsentAtTheMomentOfSending(t *testing.T) {
	t.Parallel()
	g := serve(t)
	p := newProvider(t, g)
	yes := ledger{allowed: map[string]bool{"12/919812345678": true, "12/patient-7": true}}
	for _, c := range []struct {
		name    string
		consent ledger
		data    string
		want    string
		reason  string
	}{
		{"by number", yes, simple, "sent", ""},
		{"by key", yes, `{"contact":9812345678,"countryCode":91,"message":"m","cache_key":"patient-7"}`, "sent", ""},
		{"the key decides", yes, `{"contact":9812345678,"countryCode":91,"message":"m","cache_key":"patient-8"}`, "permanent", "consent_missing"},
		{"never asked", ledger{}, simple, "permanent", "consent_missing"},
		{"no one knows", ledger{allowed: yes.allowed, err: errors.New("away")}, simple, "postponed", "consent_unavailable"},
	} {
		_, err := whatsapp.NewGate(c.consent, p).Handle(t.Context(), delivery(c.data))
		if sent := len(g.took()) == 1; provider.Outcome(err) != c.want || sent != (c.want == "sent") || (err != nil && job.AsFailure(err).Reason != c.reason) {
			t.Errorf("%s: %s (%v), sent %t", c.name, provider.Outcome(err), err, sent)
		}
	}
}

func TestWrongSettingsAreRefused(t *testing.T) {
	t.Parallel()
	deps := provider.Deps{Secrets: provider.Directory{Root: fstest.MapFS{"token": {Data: []byte("x")}}}}
	for _, raw := range []string{`{}`, `{"phone_number_id":"../x","token_secret":"token"}`, `{"phone_number_id":"1","token_secret":"missing"}`,
		`{"phone_number_id":"1","token_secret":"token","version":"latest"}`, `{"phone_number_id":"1","token_secret":"token","base_url":"graph"}`} {
		if _, err := whatsapp.New([]byte(raw), deps); err == nil {
			t.Errorf("%s was accepted", raw)
		}
	}
}
