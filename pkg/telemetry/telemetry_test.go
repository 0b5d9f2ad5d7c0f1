package telemetry_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/pkg/telemetry"
)

func TestLogLinesContainServiceAndTrace(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cfg := telemetry.Config{Environment: "dev", LogLevel: slog.LevelInfo, LogJSON: true}
	tel, err := telemetry.Start(t.Context(), "rerun", "test", cfg, &out)
	if err != nil {
		t.Fatal(err)
	}
	id := trace.TraceID{1}
	ctx := trace.ContextWithSpanContext(t.Context(),
		trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: trace.SpanID{2}}))
	tel.Logger.DebugContext(ctx, "below the level")
	tel.Logger.With("k", "v").InfoContext(ctx, "hello")
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("log = %s, want one JSON line", out.String())
	}
	if line["service"] != "rerun" || line["trace_id"] != id.String() || line["k"] != "v" {
		t.Fatalf("line = %v, want the service, the trace's id and k", line)
	}
	if tel.Tracing {
		t.Fatal("Tracing = true without an endpoint, want false")
	}
	tel.Shutdown(t.Context())
}

func TestLogLevelDoesNotFilterTheAudit(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	tel, err := telemetry.Start(t.Context(), "search", "test", telemetry.Config{Environment: "dev", LogLevel: slog.LevelError, LogJSON: true}, &lines)
	if err != nil {
		t.Fatal(err)
	}
	tel.Logger.Warn("hidden")
	tel.Audit.Info("patient was read", "user_id", 501)
	if got := lines.String(); strings.Contains(got, "hidden") || !strings.Contains(got, `"msg":"patient was read","service":"search","user_id":501`) {
		t.Errorf("log = %s, want the audit's line only", got)
	}
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	for _, bad := range []telemetry.Config{{Environment: "prod"}, {Environment: "dev", TraceSampleRate: 2}} {
		if bad.Validate() == nil {
			t.Errorf("%+v accepted, want an error", bad)
		}
	}
}

func TestQuotedValuesOfErrorsAreNotLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	tel, err := telemetry.Start(t.Context(), "rerun", "test", telemetry.Config{Environment: "dev", LogJSON: true}, &out)
	if err != nil {
		t.Fatal(err)
	}
	tel.Logger.Error("call failed", "error", "Error 1062: Duplicate entry 'Rahul Sharma' for key \"contact 9876543210\"")
	if text := out.String(); bytes.Contains(out.Bytes(), []byte("Rahul")) || bytes.Contains(out.Bytes(), []byte("98765")) {
		t.Fatalf("log contains a quoted value: %s", text)
	}
}
