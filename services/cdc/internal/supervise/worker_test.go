package supervise_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/store/connect"
	"github.com/labplatform/labplatform/services/cdc/internal/supervise"
)

const (
	existing   = "source-existing"
	projection = "source-projection"
	trace      = "org.apache.kafka.connect.errors.ConnectException: stopped\n\tat io.debezium.A.b(A.java:1)\n" +
		"Caused by: java.sql.SQLException: Duplicate entry 'Asha Rao'\n"
)

// worker is a fake Kafka Connect server behind the real client. It stores connectors and responds as in the recordings,
// without a network, so that time can be virtual.
type worker struct {
	mu   sync.Mutex // guards all fields
	away bool
	// brokersAway simulates unavailable brokers: the worker responds from memory, without offsets.
	brokersAway bool
	refusal     string // message of the 400 response to every configuration
	connectors  map[string]*connector
	requests    []string // all requests except reads, with the time since the start
	begin       time.Time
	onRestart   func(*connector)
}

type connector struct {
	state         string
	tasks         []string
	trace         string
	configuration map[string]string
}

func newWorker(names ...string) *worker {
	w := &worker{connectors: map[string]*connector{}, begin: time.Now()}
	for _, name := range names {
		w.connectors[name] = &connector{state: connect.Running, tasks: []string{connect.Running}}
	}
	return w
}

func (w *worker) client() *connect.Client {
	return connect.New(connect.Config{URLs: []string{"http://connect"}, HTTP: &http.Client{Transport: w}})
}

// change changes the worker while other goroutines send requests to it.
func (w *worker) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *worker) RoundTrip(q *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return nil, errors.New("connection refused")
	}
	recorder := httptest.NewRecorder()
	w.serve(recorder, q)
	return recorder.Result(), nil
}

func (w *worker) serve(out *httptest.ResponseRecorder, q *http.Request) {
	if q.Method != http.MethodGet {
		w.requests = append(w.requests, fmt.Sprintf("%s %s %s", time.Since(w.begin), q.Method, q.URL.RequestURI()))
	}
	if q.URL.Path == "/connectors" {
		w.statuses(out)
		return
	}
	parts := strings.Split(strings.TrimPrefix(q.URL.Path, "/connectors/"), "/")
	name, verb := parts[0], parts[1]
	c := w.connectors[name]
	switch {
	case verb == "config" && q.Method == http.MethodPut:
		w.configure(out, q, name)
	case c == nil:
		answer(out, http.StatusNotFound, map[string]any{"error_code": 404, "message": "Unknown connector " + name})
	case verb == "config":
		answer(out, http.StatusOK, c.configuration)
	case verb == "offsets" && w.brokersAway:
		answer(out, http.StatusInternalServerError, map[string]any{"error_code": 500, "message": "Request timed out"})
	case verb == "offsets" && q.Method == http.MethodDelete && c.state != connect.Stopped:
		answer(out, http.StatusBadRequest, map[string]any{"error_code": 400, "message": "Connectors must be in the STOPPED state"})
	case verb == "offsets":
		answer(out, http.StatusOK, map[string]any{"offsets": []any{map[string]any{"partition": map[string]string{"server": "lab"},
			"offset": map[string]any{"ts_sec": 1795254614, "file": "binlog.000001", "pos": 10247, "gtids": "0-1-35"}}}})
	case verb == "restart":
		if w.onRestart != nil {
			w.onRestart(c)
		}
		out.WriteHeader(http.StatusAccepted)
	case verb == "stop":
		c.state, c.tasks = connect.Stopped, nil
		out.WriteHeader(http.StatusNoContent)
	case verb == "resume":
		c.state, c.tasks = connect.Running, []string{connect.Running}
		out.WriteHeader(http.StatusAccepted)
	default:
		out.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (w *worker) configure(out *httptest.ResponseRecorder, q *http.Request, name string) {
	var configuration map[string]string
	if err := json.NewDecoder(q.Body).Decode(&configuration); err != nil || len(configuration) == 0 || w.refusal != "" {
		answer(out, http.StatusBadRequest, map[string]any{"error_code": 400, "message": w.refusal})
		return
	}
	configuration["name"] = name
	status := http.StatusOK
	if w.connectors[name] == nil {
		status = http.StatusCreated
		w.connectors[name] = &connector{state: connect.Running, tasks: []string{connect.Running}}
	}
	w.connectors[name].configuration = configuration
	answer(out, status, map[string]any{"name": name, "config": configuration})
}

func (w *worker) statuses(out *httptest.ResponseRecorder) {
	all := map[string]any{}
	for name, c := range w.connectors {
		tasks := []any{}
		for i, state := range c.tasks {
			tasks = append(tasks, part(i, state, c.trace))
		}
		all[name] = map[string]any{"status": map[string]any{"name": name, "connector": part(0, c.state, c.trace), "tasks": tasks}}
	}
	answer(out, http.StatusOK, all)
}

func part(id int, state, trace string) map[string]any {
	p := map[string]any{"id": id, "state": state, "worker_id": "127.0.0.1:8083", "version": "3.5.0.Final"}
	if state == connect.Failed {
		p["trace"] = trace
	}
	return p
}

func answer(out *httptest.ResponseRecorder, status int, body any) {
	out.WriteHeader(status)
	_ = json.NewEncoder(out).Encode(body)
}

// fail makes the connector's only task fail.
func (w *worker) fail(name string) {
	w.connectors[name].tasks, w.connectors[name].trace = []string{connect.Failed}, trace
}

func (w *worker) heal(name string) { w.connectors[name].tasks = []string{connect.Running} }

// journal is a fake failure log, store of jumps and observer.
type journal struct {
	away      error
	records   []string
	up        map[string]bool
	tasks     map[string]map[int]string
	restarted map[string]int
	lost      []string
	jumping   map[string]bool
	jumps     []string // stored jumps in order
}

var (
	_ supervise.Jumps    = (*journal)(nil)
	_ supervise.Observer = (*journal)(nil)
)

func (j *journal) Jump(_ context.Context, names []string) error {
	if j.away != nil {
		return j.away
	}
	for _, name := range names {
		j.jumping[name] = true
		j.jumps = append(j.jumps, "jump "+name)
	}
	return nil
}

func (j *journal) Jumping(context.Context) (map[string]bool, error) {
	return maps.Clone(j.jumping), nil
}

func (j *journal) Jumped(_ context.Context, name string) error {
	delete(j.jumping, name)
	j.jumps = append(j.jumps, "jumped "+name)
	return j.away
}

func (j *journal) Lost(name string) { j.lost = append(j.lost, name) }

func newJournal() *journal {
	return &journal{up: map[string]bool{}, tasks: map[string]map[int]string{}, restarted: map[string]int{}, jumping: map[string]bool{}}
}

func (j *journal) Record(_ context.Context, connector string, task int, trace, offsets string) error {
	if j.away != nil {
		return j.away
	}
	j.records = append(j.records, fmt.Sprintf("%s/%d %s %s", connector, task, trace, offsets))
	return nil
}

func (j *journal) Connector(name string, up bool, tasks map[int]string) {
	j.up[name], j.tasks[name] = up, tasks
}

func (j *journal) Restarted(name string) { j.restarted[name]++ }

// fixture is a supervisor with its dependencies.
type fixture struct {
	*supervise.Supervisor
	worker  *worker
	journal *journal
	log     bytes.Buffer
	tables  []string // captured tables that the connectors cannot read
}

func newFixture() *fixture {
	b := &fixture{worker: newWorker(existing, projection), journal: newJournal()}
	b.Supervisor = supervise.New(supervise.Deps{Runtime: b.worker.client(), Failures: b.journal, Jumps: b.journal, Observer: b.journal, Clock: clock.System{},
		Log: slog.New(slog.NewTextHandler(&b.log, nil)), Connectors: []string{existing, projection}, Unreadable: func(context.Context) ([]string, error) { return b.tables, nil }})
	return b
}

// watch runs a check every second for d.
func (b *fixture) watch(t *testing.T, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		if err := b.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
	}
}

// restarts returns the times of the restart requests since the start.
func (b *fixture) restarts() []string {
	var list []string
	for _, request := range b.worker.requests {
		at, _, _ := strings.Cut(request, " ")
		list = append(list, at)
	}
	return list
}
