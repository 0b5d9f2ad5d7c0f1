package grpcserver_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/labplatform/labplatform/pkg/grpcserver"
)

// lineOf returns the first line of the log that contains all parts.
func lineOf(logs *bytes.Buffer, parts ...string) string {
	for line := range strings.SplitSeq(logs.String(), "\n") {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			return line
		}
	}
	return ""
}

func counted(t *testing.T, h *handler, code string) int {
	t.Helper()
	families, err := h.tel.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "grpc_server_handled_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "grpc_code" && label.GetValue() == code {
					return int(metric.GetCounter().GetValue())
				}
			}
		}
	}
	return 0
}

func TestPanicsAndRefusedDeadlinesAreLoggedAndCounted(t *testing.T) {
	t.Parallel()
	client, h, logs := start(t, config())
	named := metadata.AppendToOutgoingContext(good(t), "x-request-id", "7f3a")
	if _, err := client.ListReruns(named, list(3)); status.Code(err) != codes.Internal {
		t.Fatal(err)
	}
	// On a busy machine the client may time out before the refusal arrives; only a refusal proves that it was logged.
	refused := false
	for try := 0; try < 100 && !refused; try++ {
		hurried, cancel := context.WithTimeout(named, 35*time.Millisecond)
		_, err := client.ListReruns(hurried, list(0))
		refused = strings.Contains(status.Convert(err).Message(), "too little time")
		cancel()
	}
	const method = `"method":"/lab.rerun.v1.RerunService/ListReruns"`
	for _, what := range []string{`"msg":"handler panicked"`, `"code":"Internal"`, `"reason":"TOO_LITTLE_TIME"`} {
		if lineOf(logs, method, what, `"request_id":"7f3a"`) == "" {
			t.Errorf("log lacks %s with its method and request: %s", what, logs)
		}
	}
	for _, code := range []string{"Internal", "DeadlineExceeded"} {
		if n := counted(t, h, code); n < 1 {
			t.Errorf("calls with %s = %d, want at least 1", code, n)
		}
	}
	if n := testutil.CollectAndCount(h.tel.Registry, "grpc_server_panics_total"); n != 1 {
		t.Errorf("series of grpc_server_panics_total = %d, want 1", n)
	}
}

func TestUselessLimitsAreRefused(t *testing.T) {
	t.Parallel()
	cfg := grpcserver.Config{GRPCPort: 70000, MaxInFlight: 0, MaxStreams: -1}
	err := cfg.Validate()
	for _, name := range []string{"MAX_IN_FLIGHT", "MAX_STREAMS", "DEADLINE_SECONDS", "MAX_MESSAGE_BYTES", "GRPC_PORT"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Validate = %v, want %s named", err, name)
		}
	}
	cfg = grpcserver.Config{GRPCPort: 9001, MaxInFlight: 1, MaxStreams: 1, DefaultDeadlineSeconds: 1, MaxMessageBytes: 1}
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
}
