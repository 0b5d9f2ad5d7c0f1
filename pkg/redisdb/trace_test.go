package redisdb_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
)

func TestSpansNameTheServerAndTheFirstUseOfAScriptIsNoError(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	spans := tracetest.NewSpanRecorder()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = client.Close() })
	if err := client.Ping(t.Context()).Err(); err != nil { // connects outside the trace
		t.Fatal(err)
	}
	redisdb.Trace(client, tracers)
	ctx, request := tracers.Tracer("test").Start(t.Context(), "request")
	if err := redis.NewScript("return 1").Run(ctx, client, nil).Err(); err != nil {
		t.Fatal(err)
	}
	wrong := client.Do(ctx, "HGET").Err()
	request.End()
	for _, s := range spans.Ended() {
		if s.Name() == "request" {
			continue
		}
		failed := s.Status().Code == codes.Error
		if want := s.Name() == "hget"; failed != want {
			t.Errorf("span %s: error = %t, want %t (%v)", s.Name(), failed, want, wrong)
		}
		named := false
		for _, a := range s.Attributes() {
			named = named || a == semconv.ServerAddress("127.0.0.1")
		}
		if !named {
			t.Errorf("span %s: attributes %v, want server.address", s.Name(), s.Attributes())
		}
	}
	if n := len(spans.Ended()); n != 4 { // spans of evalsha, eval and hget, and of the request
		t.Errorf("%d spans, want 4", n)
	}
}
