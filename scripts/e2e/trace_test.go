package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/devstack/tracing"
)

const traceKey = "Bearer traces-of-e2e"

// traces collects the spans of all services. The services sample no traces of their own, so that only requests of tests
// with a traceparent are traced.
var traces *tracing.Collector

func traceEnvironment() []string {
	var environment []string
	for _, prefix := range []string{
		"GATEWAY", "RERUN", "TASKQUEUE", "CALLOUT", "NOTIFICATIONS", "BILL_SPLIT", "CELL_COUNTER", "EXTERNAL_EDIT",
	} {
		environment = append(environment, prefix+"_OPENTELEMETRY_ENDPOINT="+traces.Address,
			prefix+"_OPENTELEMETRY_API_KEY="+traceKey, prefix+"_ERROR_REPORTING_SAMPLE_RATE=0")
	}
	// Successful calls are logged at level debug.
	return append(environment,
		"RERUN_LOG_LEVEL=DEBUG", "TASKQUEUE_LOG_LEVEL=DEBUG", "CALLOUT_LOG_LEVEL=DEBUG", "NOTIFICATIONS_LOG_LEVEL=DEBUG")
}

// autoRerun lists the spans up to the statement that stores an automatic rerun.
var autoRerun = []string{
	"gateway POST /api-v3/sample-rerun/{lab_report_id}/auto",
	"gateway lab.rerun.v1.RerunService/EvaluateAutoRerun", // the client's span of the call, then the server's
	"rerun lab.rerun.v1.RerunService/EvaluateAutoRerun",
	"rerun send taskqueue.enqueue",
	"rerun process taskqueue.enqueue", // delivered from the outbox
	"rerun lab.taskqueue.v1.TaskQueueService/Enqueue",
	"taskqueue lab.taskqueue.v1.TaskQueueService/Enqueue",
	"taskqueue send webhook",
	"taskqueue process webhook",
	"taskqueue POST",
	"gateway POST /api-v3/sample-rerun/{report_id}/request",
	"gateway lab.rerun.v1.RerunService/RequestRerun",
	"rerun lab.rerun.v1.RerunService/RequestRerun",
}

func TestOneTraceGoesFromARequestThroughTheQueueAndBack(t *testing.T) {
	t.Parallel()
	const id, trace, root = 97011, "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	newReport(t, id)
	path := fmt.Sprintf("/api-v3/sample-rerun/%d/auto", id)
	traced := []string{"Traceparent", "00-" + trace + "-" + root + "-01"}
	// A caller's trace is another one, because the gateway begins a new trace.
	if got := call(t, labSession, "POST", path, `{"device_data":[]}`, traced...); got.status == 500 {
		t.Fatalf("auto by a person: %d %s", got.status, got.body)
	}
	body := `{"lab_id":12,` + strings.TrimPrefix(lowHaemoglobin, "{")
	traced = append(traced, "Authorization", "Bearer "+internalToken(t), "X-Is-Internal-Request", "True")
	if got := callAt(t, stack.Endpoints.GatewayInternal, "", "POST", path, body, traced...); got.status != 200 {
		t.Fatalf("auto: %d %s", got.status, got.body)
	}
	tree := wholeTrace(t, trace, root, append(slices.Clone(autoRerun), "rerun insert SampleRerun"))
	begun := slices.DeleteFunc(tree.Spans(), func(s tracing.Span) bool { return s.Parent != root })
	if len(begun) != 1 {
		t.Errorf("%d spans continue the trace that was sent to both listeners, want that of the internal one", len(begun))
	}
	t.Logf("the trace of an automatic rerun\n%s", tree.String(root))
	for _, want := range []struct {
		name       string
		kind       otlp.Span_SpanKind
		attributes []string
	}{
		{"INSERT outbox_rerun", otlp.Span_SPAN_KIND_CLIENT, []string{"db.system.name=mysql", "db.query.summary=INSERT outbox_rerun", "server.address=127.0.0.1"}},
		{"insert SampleRerun", otlp.Span_SPAN_KIND_CLIENT, []string{"db.system.name=mongodb", "db.collection.name=SampleRerun", "server.address=127.0.0.1"}},
		{"hset", otlp.Span_SPAN_KIND_CLIENT, []string{"db.system.name=redis", "db.operation.name=hset", "server.address=127.0.0.1"}},
		{"process taskqueue.enqueue", otlp.Span_SPAN_KIND_CONSUMER, []string{"messaging.system=outbox", "messaging.destination.name=outbox_rerun"}},
		{"send taskqueue.enqueue", otlp.Span_SPAN_KIND_PRODUCER, []string{"messaging.system=outbox", "messaging.destination.name=outbox_rerun"}},
		{"send webhook", otlp.Span_SPAN_KIND_PRODUCER, []string{"messaging.system=taskqueue", "messaging.destination.name=webhook"}},
		{"POST", otlp.Span_SPAN_KIND_CLIENT, []string{"server.address=127.0.0.1", "http.response.status_code=200"}},
		{"process webhook", otlp.Span_SPAN_KIND_CONSUMER, []string{"messaging.system=taskqueue", "http.response.status_code=200"}},
		{"POST /api-v3/sample-rerun/{report_id}/request", otlp.Span_SPAN_KIND_SERVER,
			[]string{"http.request.method=POST", "http.route=/api-v3/sample-rerun/{report_id}/request"}},
		{"lab.taskqueue.v1.TaskQueueService/Enqueue", otlp.Span_SPAN_KIND_SERVER, []string{"rpc.method=lab.taskqueue.v1.TaskQueueService/Enqueue"}},
	} {
		if !slices.ContainsFunc(tree.Spans(), func(s tracing.Span) bool {
			return s.Name == want.name && s.Kind == want.kind && s.Has(want.attributes...)
		}) {
			t.Errorf("no %v span %q with %q", want.kind, want.name, want.attributes)
		}
	}
	for _, s := range tree.Spans() {
		if err := s.CheckOrigin(traceKey, labSession, "5.9"); err != nil {
			t.Error(err)
		}
	}
	for _, service := range []string{"rerun", "taskqueue"} {
		await.Nil(t, "lines of the trace in the log of "+service, func() error {
			lines, err := tracing.LogLines(filepath.Join(stack.Dir, "logs", service+".log"), trace)
			if err == nil && len(lines) == 0 {
				err = errors.New("there is none")
			}
			return err
		})
	}
}

// wholeTrace waits until the trace has a span at the end of way, which means that every process has sent its spans.
func wholeTrace(t *testing.T, trace, root string, way []string) (tree tracing.Tree) {
	t.Helper()
	await.Nil(t, "the trace", func() error {
		tree = tracing.Grow(trace, traces.All())
		if !slices.ContainsFunc(tree.Spans(), func(s tracing.Span) bool { return slices.Equal(tree.Path(s), way) }) {
			return fmt.Errorf("nothing is at the end of %q in\n%s", way, tree.String(root))
		}
		return nil
	})
	return tree
}

// push lists the spans from a critical value to a push message.
var push = []string{
	"gateway POST /report/{bill_id}/critical/evaluate",
	"gateway lab.callout.v1.CalloutService/EvaluateBill",
	"callout lab.callout.v1.CalloutService/EvaluateBill",
	"callout send notifications.notify",
	"callout process notifications.notify", // from the outbox
	"callout lab.notifications.v1.NotificationsService/Notify",
	"notifications lab.notifications.v1.NotificationsService/Notify",
	"notifications send taskqueue.push",
	"notifications process taskqueue.push",
	"notifications lab.taskqueue.v1.TaskQueueService/Enqueue",
	"taskqueue lab.taskqueue.v1.TaskQueueService/Enqueue",
	"taskqueue send push",
	"taskqueue process push",
}

func TestOneTraceGoesFromACriticalValueToThePush(t *testing.T) {
	t.Parallel()
	const bill, trace, root = 978500, "4bf92f3577b34da6a3ce929d0e0e4737", "00f067aa0ba902b8"
	newCriticalBill(t, bill, 0, 3)
	got := callAt(t, stack.Endpoints.GatewayInternal, "", "POST", fmt.Sprintf("/report/%d/critical/evaluate", bill), `{"lab_id":12}`,
		"Authorization", "Bearer "+internalToken(t), "X-Is-Internal-Request", "True", "Traceparent", "00-"+trace+"-"+root+"-01")
	if got.status != http.StatusOK {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	tree := wholeTrace(t, trace, root, push)
	t.Logf("the trace of a critical value\n%s", tree.String(root))
	for _, s := range tree.Spans() {
		if err := s.CheckOrigin(traceKey, "7.1", "Potassium"); err != nil {
			t.Error(err)
		}
	}
}

// TestAProcessStopsCleanlyWithoutItsTraceCollector starts a gateway whose collector is a closed port. It must serve
// requests and stop.
func TestAProcessStopsCleanlyWithoutItsTraceCollector(t *testing.T) {
	t.Parallel()
	gateway := startProgram(t, "gateway", "GATEWAY", map[string]string{
		"GATEWAY_PORT": freePort(t), "GATEWAY_INTERNAL_PORT": freePort(t), "GATEWAY_ADMIN_PORT": freePort(t),
		"GATEWAY_OPENTELEMETRY_ENDPOINT": "127.0.0.1:" + freePort(t), "GATEWAY_ERROR_REPORTING_SAMPLE_RATE": "1",
	})
	await.True(t, "the gateway", gateway.ready)
	newReport(t, 97019)
	for range 3 {
		got, err := send(t.Context(), "http://127.0.0.1:"+gateway.env["GATEWAY_PORT"], labSession, "GET", "/api-v3/sample-rerun/97019", "")
		if err != nil || got.status != http.StatusOK {
			t.Errorf("a request: %d, %v; want 200", got.status, err)
		}
	}
	gateway.terminate()
	if err := gateway.wait(); err != nil {
		t.Errorf("the gateway ended with %v, want exit status 0", err)
	}
	text, err := os.ReadFile(gateway.log)
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for text := range strings.Lines(string(text)) {
		var line struct {
			Level, Msg, Endpoint string
			Spans                int
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Errorf("the line %q is not JSON", text)
		}
		if strings.HasPrefix(line.Msg, "spans were lost") && line.Level == "WARN" && line.Spans > 0 && line.Endpoint != "" {
			lost++
		}
	}
	if lost != 1 {
		t.Errorf("log = %s, want one warning with the number of lost spans", text)
	}
}
