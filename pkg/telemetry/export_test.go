package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	otlp "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// collector is a trace collector. refusal, if set, is its response to every batch.
type collector struct {
	otlp.UnimplementedTraceServiceServer

	refusal error

	mu       sync.Mutex
	names    []string          // names of the received spans; guarded by mu
	resource map[string]string // resource of the last batch; guarded by mu
}

func (c *collector) Export(_ context.Context, r *otlp.ExportTraceServiceRequest) (*otlp.ExportTraceServiceResponse, error) {
	if c.refusal != nil {
		return nil, c.refusal
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, process := range r.GetResourceSpans() {
		c.resource = map[string]string{}
		for _, a := range process.GetResource().GetAttributes() {
			c.resource[a.GetKey()] = a.GetValue().GetStringValue()
		}
		for _, scope := range process.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.names = append(c.names, s.GetName())
			}
		}
	}
	return &otlp.ExportTraceServiceResponse{}, nil
}

func (c *collector) received() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.names, " ")
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// serve starts c on address. It returns c's address and a function that stops it.
func (c *collector) serve(t *testing.T, address string) (at string, stop func()) {
	t.Helper()
	server := grpc.NewServer()
	otlp.RegisterTraceServiceServer(server, c)
	listener := listen(t, address)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String(), server.Stop
}

// process is a process that sends spans.
type process struct {
	*telemetry.Telemetry
	t   *testing.T
	log lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func begin(t *testing.T, endpoint string) *process {
	t.Helper()
	p := &process{t: t}
	cfg := telemetry.Config{Environment: "dev", LogJSON: true, OTLPEndpoint: endpoint, TraceSampleRate: 1}
	var err error
	if p.Telemetry, err = telemetry.Start(t.Context(), "rerun", "v1", cfg, &p.log); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) spans(names ...string) {
	for _, name := range names {
		_, span := p.Tracers.Tracer("test").Start(p.t.Context(), name)
		span.End()
	}
}

// flush sends waiting spans until the collector has accepted them.
func (p *process) flush() {
	if err := p.Tracers.(*sdktrace.TracerProvider).ForceFlush(p.t.Context()); err != nil {
		p.t.Errorf("flush: %v", err)
	}
}

func (p *process) counter(name string) float64 {
	p.t.Helper()
	families, err := p.Registry.Gather()
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	p.t.Errorf("metric %s is missing", name)
	return 0
}

// lateStop and lateReturn are limits for a loaded machine: far above the documented half second and two seconds, and
// below the library's own times.
const (
	lateStop   = 4 * time.Second
	lateReturn = 20 * time.Second
)

// stopped stops the process, which must not wait for the collector.
func (p *process) stopped() {
	p.t.Helper()
	begin := time.Now()
	p.Shutdown(p.t.Context())
	if took := time.Since(begin); took > lateStop {
		p.t.Errorf("the stop took %v, want half a second for the flush", took)
	}
}

// lines returns the level and message of each line of the log. Every line must be JSON.
func (p *process) lines() (lines []string, all string) {
	p.t.Helper()
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	all = p.log.b.String()
	for text := range strings.Lines(all) {
		var line struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			p.t.Fatalf("the line %q is not JSON: %v", text, err)
		}
		before, _, _ := strings.Cut(line.Msg, ";")
		lines = append(lines, line.Level+" "+before)
	}
	return lines, all
}

const (
	saysUnavailable = "WARN trace collector unavailable"
	saysAvailable   = "INFO trace collector available again"
	saysLost        = "WARN spans were lost at the stop: the trace collector did not accept them in time"
)

func TestACollectorThatDoesNotRespondDoesNotDelayAStop(t *testing.T) {
	t.Parallel()
	closed := listen(t, "127.0.0.1:0")
	closed.Close()
	silent := listen(t, "127.0.0.1:0") // the kernel accepts connections, but nothing responds
	t.Cleanup(func() { silent.Close() })
	for name, listener := range map[string]net.Listener{"a closed port": closed, "a silent listener": silent} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, listener.Addr().String())
			p.spans("a", "b", "c")
			p.stopped()
			if got := p.counter("telemetry_spans_dropped_total"); got != 3 {
				t.Errorf("dropped spans = %v, want 3", got)
			}
			lines, all := p.lines()
			if got := strings.Join(lines, ", "); got != saysLost && got != saysUnavailable+", "+saysLost {
				t.Errorf("log says %q, want that spans were lost, once", got)
			}
			if !strings.Contains(all, listener.Addr().String()) {
				t.Errorf("log = %s, want the collector's address", all)
			}
		})
	}
}

func TestSpansArriveOnceTheirCollectorIsBack(t *testing.T) {
	t.Parallel()
	var first, second collector
	at, kill := first.serve(t, "127.0.0.1:0")
	p := begin(t, at)
	p.spans("before")
	p.flush()
	kill()
	p.spans("meanwhile")
	flushed := make(chan struct{})
	go func() { defer close(flushed); p.flush() }()
	await.True(t, "two failed attempts", func() bool { return p.counter("telemetry_exports_failed_total") >= 2 })
	second.serve(t, at)
	back := time.Now()
	<-flushed
	if took := time.Since(back); took > lateReturn {
		t.Errorf("the first export came %v after the collector was back, want two seconds", took)
	}
	p.spans("after")
	p.flush()
	p.stopped()
	if first.received() != "before" || second.received() != "meanwhile after" {
		t.Errorf("received %q, then %q; want before, then meanwhile and after", first.received(), second.received())
	}
	lines, all := p.lines()
	if got := strings.Join(lines, ", "); got != saysUnavailable+", "+saysAvailable {
		t.Errorf("log says %q, want one line for each change", got)
	}
	if !strings.Contains(all, "refused") && !strings.Contains(all, "reset") && !strings.Contains(all, "EOF") {
		t.Errorf("log = %s, want the reason", all)
	}
	if got := p.counter("telemetry_spans_dropped_total"); got != 0 {
		t.Errorf("dropped spans = %v, want none", got)
	}
}

func TestSpansThatFindTheQueueFullAreCounted(t *testing.T) {
	t.Parallel()
	silent := listen(t, "127.0.0.1:0")
	t.Cleanup(func() { silent.Close() })
	p := begin(t, silent.Addr().String())
	for range 2048 + 7 {
		p.spans("one")
	}
	if got := p.counter("telemetry_spans_dropped_total"); got != 7 {
		t.Errorf("dropped spans = %v while 2048 may wait, want 7", got)
	}
	p.stopped()
	if got := p.counter("telemetry_spans_dropped_total"); got != 2048+7 {
		t.Errorf("dropped spans = %v after the stop, want all 2055", got)
	}
}

func TestARefusalOfTheCollectorIsLoggedWithItsReason(t *testing.T) {
	t.Parallel()
	c := collector{refusal: status.Error(codes.Unauthenticated, "wrong key")}
	at, _ := c.serve(t, "127.0.0.1:0")
	p := begin(t, "http://"+at)
	p.spans("a")
	p.flush()
	p.spans("b")
	p.flush()
	lines, all := p.lines()
	if got := strings.Join(lines, ", "); got != saysUnavailable || !strings.Contains(all, "Unauthenticated: wrong key") {
		t.Errorf("log = %s, want one line with the reason", all)
	}
	if got := p.counter("telemetry_spans_dropped_total"); got != 2 {
		t.Errorf("dropped spans = %v, want 2", got)
	}
	p.stopped()
}

// This test sets a variable of the process, so it is not parallel.
func TestSpansDescribeTheirProcess(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "k8s.pod.name=rerun-0,service.instance.id=uid-1,service.name=forged")
	var c collector
	at, _ := c.serve(t, "127.0.0.1:0")
	p := begin(t, at)
	p.spans("a")
	p.stopped()
	for name, want := range map[string]string{
		"service.name": "rerun", "service.version": "v1", "service.namespace": "labplatform", "service.instance.id": "uid-1",
		"k8s.pod.name": "rerun-0", "deployment.environment.name": "dev", "telemetry.sdk.language": "go",
	} {
		if got := c.resource[name]; got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "k8s.pod.name")
	first, second := begin(t, at), begin(t, at)
	var ids []string
	for _, one := range []*process{first, second} {
		one.spans("b")
		one.stopped()
		ids = append(ids, c.resource["service.instance.id"])
		if lines, _ := one.lines(); len(lines) != 1 || !strings.HasPrefix(lines[0], "WARN OTEL_RESOURCE_ATTRIBUTES") {
			t.Errorf("log says %q, want that the attributes are malformed", lines)
		}
	}
	if ids[0] == "" || ids[0] == ids[1] {
		t.Errorf("service.instance.id of two processes = %q, want two", fmt.Sprint(ids))
	}
}
