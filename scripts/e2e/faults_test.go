package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/netfault"
)

// answerWithin is the maximum time of a response: a caller's deadline of ten seconds, plus time for a busy machine.
const answerWithin = 15 * time.Second

// networkFaults are the faults of a network. The slow one delays each packet by 100 ms.
var networkFaults = []struct {
	name   string
	begin  func(*netfault.Link)
	passes bool // requests succeed nevertheless
}{
	{"silent", (*netfault.Link).Silence, false},
	{"half-open", (*netfault.Link).SilenceResponses, false},
	{"slow", func(l *netfault.Link) { l.Slow(100*time.Millisecond, 64<<10) }, true},
	{"cut", (*netfault.Link).Cut, false},
}

// linked is a rerun service and a gateway of one test, with a link to each engine and a link between them.
type linked struct {
	base  string            // base URL of the gateway
	admin map[string]string // base URLs of administration listeners by name
	links map[string]*netfault.Link
}

func startLinked(t *testing.T) linked {
	t.Helper()
	own := stack.Endpoints.Environ["rerun"]
	documents, err := url.Parse(own["RERUN_MONGO_URI"])
	if err != nil {
		t.Fatal(err)
	}
	l := linked{links: map[string]*netfault.Link{
		"MySQL":          netfault.New(t, mysqlAddress("rerun", "RERUN")),
		"Redis":          netfault.New(t, net.JoinHostPort(own["RERUN_KV_HOST"], own["RERUN_KV_PORT"])),
		"document store": netfault.New(t, documents.Host),
	}}
	documents.Host = l.links["document store"].Addr()
	service := startReplica(t, "rerun", "RERUN", map[string]string{
		"RERUN_DB_HOST": "127.0.0.1", "RERUN_DB_PORT": fmt.Sprint(l.links["MySQL"].Port()),
		"RERUN_KV_HOST": "127.0.0.1", "RERUN_KV_PORT": fmt.Sprint(l.links["Redis"].Port()),
		"RERUN_MONGO_URI": documents.String(),
	})
	await.True(t, "rerun behind links", service.ready)
	l.links["gRPC"] = netfault.New(t, "127.0.0.1:"+service.env["RERUN_GRPC_PORT"])
	gateway := startProgram(t, "gateway", "GATEWAY", map[string]string{
		"GATEWAY_PORT": freePort(t), "GATEWAY_INTERNAL_PORT": freePort(t), "GATEWAY_ADMIN_PORT": freePort(t),
		"GATEWAY_RERUN_ADDR": l.links["gRPC"].Addr(),
	})
	await.True(t, "the gateway before links", gateway.ready)
	l.base = "http://127.0.0.1:" + gateway.env["GATEWAY_PORT"]
	l.admin = map[string]string{
		"rerun": "http://127.0.0.1:" + service.env["RERUN_ADMIN_PORT"], "gateway": "http://127.0.0.1:" + gateway.env["GATEWAY_ADMIN_PORT"],
	}
	return l
}

// outcome is a response and its duration.
type outcome struct {
	answer
	took time.Duration
	err  error
}

func (l linked) ask(ctx context.Context, method, path, body string) outcome {
	begin := time.Now()
	got, err := send(ctx, l.base, labSession, method, path, body)
	return outcome{got, time.Since(begin), err}
}

// request requests a rerun of the report, which writes to all three stores.
func (l linked) request(ctx context.Context, report int) outcome {
	return l.ask(ctx, "POST", fmt.Sprintf("/api-v3/sample-rerun/%d/request", report),
		`{"type":"Manual","rerun_number":"1","requested_parameters":"[1]","is_active":true,"lab_id":12}`)
}

// both requests a rerun of one report, and concurrently reads the reruns of another.
func (l linked) both(ctx context.Context, report, other int) (write, read outcome) {
	var reading sync.WaitGroup
	reading.Go(func() { read = l.ask(ctx, "GET", fmt.Sprintf("/api-v3/sample-rerun/%d", other), "") })
	write = l.request(ctx, report)
	reading.Wait()
	return write, read
}

// awaitRerun waits until the report's reruns can be read, and returns their number.
func (l linked) awaitRerun(t *testing.T, report int) (reruns int) {
	t.Helper()
	await.Nil(t, "an answer after the fault", func() error {
		got, err := send(t.Context(), l.base, labSession, "GET", fmt.Sprintf("/api-v3/sample-rerun/%d", report), "")
		if err != nil || got.status != http.StatusOK {
			return fmt.Errorf("%d %s %w", got.status, got.body, err)
		}
		reruns = strings.Count(got.body, `"rerun_number"`)
		return nil
	})
	return reruns
}

// TestWhatACallerSeesOfAFaultInTheNetwork prints a table: for each engine and fault, the response to a write and to a
// read with their durations, and the time after the fault until requests succeed again. Responses are compared with the
// API document, as in all tests of this package. A write with status 200 must not be lost.
func TestWhatACallerSeesOfAFaultInTheNetwork(t *testing.T) {
	t.Parallel()
	engines := []string{"MySQL", "Redis", "document store", "gRPC"}
	tables := make([]string, len(engines))
	t.Run("with", func(t *testing.T) {
		for i, engine := range engines {
			t.Run(engine, func(t *testing.T) {
				t.Parallel()
				tables[i] = tryFaults(t, engine, 979_400+10*i)
			})
		}
	})
	t.Logf("\n%-14s %-9s  %-52s %-52s recovered\n%s", "engine", "fault", "a write", "a read", strings.Join(tables, ""))
}

// tryFaults causes each fault between a new service and the engine. Its reports have ids from warm on.
func tryFaults(t *testing.T, engine string, warm int) (table string) {
	t.Helper()
	l := startLinked(t)
	newReport(t, warm)
	await.True(t, "a request without a fault", func() bool { return l.request(t.Context(), warm).status == http.StatusOK })
	for i, fault := range networkFaults {
		report := warm + 1 + i
		newReport(t, report)
		l.awaitRerun(t, report)
		fault.begin(l.links[engine])
		write, read := l.both(t.Context(), report, warm)
		l.links[engine].Restore()
		repaired := time.Now()
		reruns := l.awaitRerun(t, report)
		table += fmt.Sprintf("%-14s %-9s  %-52s %-52s %4.1f s\n", engine, fault.name, write, read, time.Since(repaired).Seconds())
		if write.status == http.StatusOK && reruns == 0 {
			t.Errorf("%s: an acknowledged request is lost", fault.name)
		}
		for _, got := range []outcome{write, read} {
			if !got.documented() || got.took > answerWithin || fault.passes && got.status != http.StatusOK {
				t.Errorf("%s: after %v %d %s %v", fault.name, got.took, got.status, got.body, got.err)
			}
		}
	}
	return table
}

// documented reports whether the status is 200, 503 or 504, or the documented 500 of a request that was not saved.
func (o outcome) documented() bool {
	switch o.status {
	case http.StatusOK, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusInternalServerError:
		return strings.Contains(o.body, "Something went wrong when saving sample rerun")
	}
	return false
}

// String returns the outcome for the table.
func (o outcome) String() string {
	const most = 34
	var body struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal([]byte(o.body), &body) // without a message, the status must suffice
	return fmt.Sprintf("%4.1f s  %d %.*s", o.took.Seconds(), o.status, most, body.Message)
}
