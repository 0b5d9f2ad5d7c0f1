package telemetry_test

import (
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/grpclog"

	"github.com/labplatform/labplatform/pkg/telemetry"
)

// This test replaces the process's loggers, so it is not parallel.
func TestMessagesOfLibrariesAreLoggedAsAttributes(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	defer log.SetOutput(os.Stderr)
	if _, err := telemetry.Start(t.Context(), "gateway", "test", telemetry.Config{Environment: "dev", LogJSON: true}, file); err != nil {
		t.Fatal(err)
	}
	forged := "text/x\n{\"level\":\"ERROR\",\"msg\":\"forged\"}"
	grpclog.Errorf("Failed to parse Content-Type %s: %v", forged, "mime: 'Rahul'")
	grpclog.Warning("connection refused")
	grpclog.Info("a step")
	log.Printf("http: panic serving 10.0.0.1: %s", forged)
	log.Print(strings.Repeat("x", 1<<16))
	written, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(written)), "\n")
	if len(lines) != 3 {
		t.Fatalf("lines = %d, want 3: %s", len(lines), written)
	}
	for _, text := range lines {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil || line["msg"] != "library message" || line["service"] != "gateway" || line["level"] != "WARN" {
			t.Errorf("line = %[2]s, error %[1]v, want a library's warning of the gateway", err, text)
		}
		if strings.Contains(text, "Rahul") || len(text) > 1000 {
			t.Errorf("line = %s, want at most 1000 bytes without patient data", text)
		}
	}
}
