package upgrade

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/e2e/demolab"
)

// receiver counts webhooks by path. While it is down it responds 500, except to /slow, whose response waits until
// comeBack.
type receiver struct {
	*httptest.Server
	back     chan struct{} // closed by comeBack
	comeBack func()

	mu  sync.Mutex
	got map[string]int // webhooks with a 200 response; guarded by mu
}

func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{back: make(chan struct{}), got: map[string]int{}}
	r.comeBack = sync.OnceFunc(func() { close(r.back) })
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/slow" {
			<-r.back
		}
		select {
		case <-r.back:
		default:
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got[q.URL.Path]++
	}))
	t.Cleanup(func() { r.comeBack(); r.Close() })
	return r
}

func (r *receiver) count(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got[path]
}

// kept is a job that the previous task queue accepted, and its expected state with the current one.
type kept struct {
	name, path, task string // the task's fields, without its time
	before, after    string // status with the previous task queue, and in the end
}

// queueful has a job of each kind. HOOK is replaced by the receiver's address.
var queueful = []kept{
	{"waiting SMS", "/schedule/", `"task":1,"task_type":4,"data":{"contact":9876543210,"countryCode":91,"message":"upgrade"}`, "scheduled", "finished"},
	{"one-time password", "/schedule/", `"task":1,"task_type":1,"data":{"contact":9876543210,"countryCode":91,"message":"4711"}`, "scheduled", "finished"},
	{"waiting mail", "/schedule/", `"task":2,"task_type":1,"data":{"to":["a@example.org"],"subject":"upgrade","message":"upgrade"}`, "scheduled", "finished"},
	{"waiting push", "/schedule/", `"task":3,"task_type":1,"data":{"tokens":["t"],"title":"upgrade"}`, "scheduled", "finished"},
	{"waiting WhatsApp message without consent", "/schedule/", `"task":6,"task_type":1,"data":{"contact":9876543210,"countryCode":91,"message":"upgrade"}`, "scheduled", "failed"},
	{"waiting webhook", "/schedule/", `"task":4,"task_type":2,"data":{"url":"HOOK/waiting"}`, "scheduled", "finished"},
	{"window", "/schedule/", `"task":4,"task_type":2,"window_delay":"upgrade","data":{"url":"HOOK/window"}`, "scheduled", "finished"},
	{"webhook that runs", "/queue/", `"task":4,"task_type":2,"data":{"url":"HOOK/slow"}`, "started", "finished"},
	{"webhook between two attempts", "/queue/", `"task":4,"task_type":2,"retry":9,"data":{"url":"HOOK/retried"}`, "retrying", "finished"},
	{"failed webhook", "/queue/", `"task":4,"task_type":2,"retry":0,"data":{"url":"HOOK/failed"}`, "failed", "failed"},
	{"finished SMS with a callback that is not claimed yet", "/queue/", `"task":1,"task_type":4,"subscribe":"HOOK/told","data":{"contact":9876543210,"countryCode":91,"message":"upgrade"}`, "finished", "finished"},
}

// fullQueue makes the running previous task queue accept a job of each kind, and replaces it by the current one.
func fullQueue(t *testing.T, p demolab.Platform) {
	r := receive(t)
	soon := time.Now().Add(time.Minute)
	ids := make([]string, len(queueful))
	for i, k := range queueful {
		ids[i] = accepted(t, p, k, r.URL, soon)
		await.Nil(t, k.name, func() error { return hasStatus(t, p, ids[i], k.before) })
	}
	cancelled := accepted(t, p, kept{"cancelled", queueful[0].path, queueful[0].task, "", ""}, r.URL, soon)
	p.MustAsk(t, http.MethodPost, "/cancelJob/", `{"job_id":["`+cancelled+`"]}`)

	if err := errors.Join(p.Stop("taskqueue"), p.Start("taskqueue", nil)); err != nil {
		t.Fatal(err)
	}
	await.Nil(t, "the present task queue", func() error { return hasStatus(t, p, cancelled, "cancelled") })
	await.Nil(t, "the first answer to a repeated request", func() error { // 503 while the queue is not connected yet
		again, err := ask(t, p, queueful[0], r.URL, soon)
		if err == nil && again != ids[0] {
			t.Fatalf("a repeated request: want the first answer %s, got %s", ids[0], again)
		}
		return err
	})
	for i, k := range queueful {
		if strings.Contains(k.task, "window_delay") && accepted(t, p, kept{"the window again", k.path, k.task, "", ""}, r.URL, soon) != ids[i] {
			t.Error("the window was opened a second time")
		}
		if k.before == "failed" {
			p.MustAsk(t, http.MethodPost, "/retryTask/", `[{"job_id":"`+ids[i]+`"}]`)
			await.Nil(t, "revived "+k.name, func() error { return hasStatus(t, p, ids[i], "scheduled") })
		}
		if k.before == "scheduled" {
			p.MustAsk(t, http.MethodPost, "/rescheduleJob/", fmt.Sprintf(`{"job_id":%q,"resc_at":%q}`, ids[i], timeOf(time.Now().Add(-time.Second))))
		}
	}
	r.comeBack()
	for i, k := range queueful {
		if k.before != "failed" {
			await.Nil(t, k.name, func() error { return hasStatus(t, p, ids[i], k.after) })
		}
	}
	for path, want := range map[string]int{"/waiting": 1, "/window": 1, "/retried": 1} {
		if got := r.count(path); got != want {
			t.Errorf("%s came %d times", path, got)
		}
	}
	if err := hasStatus(t, p, cancelled, "cancelled"); err != nil {
		t.Error(err)
	}
}

// accepted enqueues a job, with retries as a client would, and returns its id.
func accepted(t *testing.T, p demolab.Platform, k kept, hook string, at time.Time) (id string) {
	t.Helper()
	await.Nil(t, k.name, func() (err error) { id, err = ask(t, p, k, hook, at); return err })
	return id
}

// ask is like accepted, for requests that may be refused. The job's name is its idempotency key.
func ask(t *testing.T, p demolab.Platform, k kept, hook string, at time.Time) (id string, err error) {
	t.Helper()
	when := ""
	if k.path == "/schedule/" {
		when = fmt.Sprintf(`"sch_time":%q,`, timeOf(at))
	}
	body := "[{" + when + strings.ReplaceAll(k.task, "HOOK", hook) + "}]"
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.Endpoints.Gateway+k.path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Cookie", "sessionid=demo-lab-user")
	request.Header.Set("Idempotency-Key", "upgrade "+k.name)
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	var said struct {
		IDs []string `json:"job_ids"`
	}
	if err != nil {
		return "", err
	}
	if json.Unmarshal(answer, &said) != nil || len(said.IDs) != 1 {
		return "", fmt.Errorf("%s: %s %s", k.name, response.Status, answer)
	}
	return said.IDs[0], nil
}

func timeOf(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05") }

func hasStatus(t *testing.T, p demolab.Platform, id, want string) error {
	answer, err := p.Ask(t.Context(), http.MethodPost, "/jobInfo/", fmt.Sprintf(`{"id":%q}`, id))
	if err == nil && !strings.Contains(answer, `"status":"`+want+`"`) {
		err = fmt.Errorf("instead of %s: %s", want, answer)
	}
	return err
}
