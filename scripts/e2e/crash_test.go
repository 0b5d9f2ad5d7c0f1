package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// restart starts a killed service as the stack did and waits until it is ready.
func restart(t *testing.T, name string) {
	t.Helper()
	startReady(t, name, nil)
}

// startReady is like restart, with changed variables.
func startReady(t *testing.T, name string, change map[string]string) {
	t.Helper()
	if err := stack.Start(name, change); err != nil {
		t.Fatal(err)
	}
	await.Nil(t, "readiness of "+name, func() error {
		response, err := client.Get(adminURL(name) + "/health/ready")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", response.Status, text)
		}
		return nil
	})
}

// adminURL returns the base URL of a process's administration listener.
func adminURL(name string) string {
	for key, value := range stack.Endpoints.Environ[name] {
		if strings.HasSuffix(key, "_ADMIN_PORT") {
			return "http://127.0.0.1:" + value
		}
	}
	return "http://" + name + ".has.no.admin.port"
}

// receiver holds every request until it is released, and counts deliveries by job id.
type receiver struct {
	*httptest.Server
	released chan struct{}
	held     atomic.Int64
	mu       sync.Mutex
	jobs     map[string]int // guarded by mu
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{released: make(chan struct{}), jobs: map[string]int{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body) // the server notices a disconnected client only after the body is read
		r.held.Add(1)
		select {
		case <-r.released:
		case <-request.Context().Done():
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.jobs[request.Header.Get("X-Job-Id")]++
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) deliveries(job string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobs[job]
}

// TestAWebhookSurvivesTheDeathOfTheTaskQueue kills the service while acknowledged jobs wait or run, and none has been
// delivered. Afterwards each must be delivered.
func TestAWebhookSurvivesTheDeathOfTheTaskQueue(t *testing.T) {
	sink := newReceiver(t)
	const count = 200
	tasks := "["
	for i := range count {
		if i > 0 {
			tasks += ","
		}
		tasks += fmt.Sprintf(`{"task":4,"task_type":2,"data":{"url":"%s/","args":{"n":%d},"isBody":1}}`, sink.URL, i)
	}
	accepted := call(t, labSession, "POST", "/queue/", tasks+"]")
	if accepted.status != 200 {
		t.Fatalf("got %d %s, want status 200", accepted.status, accepted.body)
	}
	await.True(t, "the first request", func() bool { return sink.held.Load() > 0 })
	if err := stack.Kill("taskqueue"); err != nil {
		t.Fatal(err)
	}
	running := sink.held.Load()
	ids, _ := accepted.json(t)["job_ids"].([]any)
	if len(ids) != count {
		t.Fatalf("%d ids for %d tasks", len(ids), count)
	}
	down := call(t, labSession, "POST", "/jobInfo", `{"id":"x"}`)
	if down.status != http.StatusServiceUnavailable || down.json(t)["code"] != 503.0 {
		t.Errorf("while it is down: %d %s", down.status, down.body)
	}
	close(sink.released)
	restart(t, "taskqueue")
	await.Nil(t, "all deliveries", func() error {
		done := 0
		for _, id := range ids {
			done += min(sink.deliveries(id.(string)), 1)
		}
		if done != count {
			return fmt.Errorf("%d of %d", done, count)
		}
		return nil
	})
	twice := 0
	for _, id := range ids {
		if sink.deliveries(id.(string)) > 1 {
			twice++
		}
	}
	if twice > int(running) {
		t.Errorf("%d were delivered twice, but only %d ran at the kill", twice, running)
	}
	t.Logf("%d of %d ran at the kill, none was lost, %d were delivered twice", running, count, twice)
}
