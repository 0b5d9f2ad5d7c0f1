package pageassets_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// checkPath is requested by the reader before it takes the events of a stream.
const checkPath = "/check"

// followed runs the reader of streams in Node.js for a second and returns what it printed.
func followed(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	reader, err := os.ReadFile("stream.js")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	script := fmt.Sprintf(`import { follow } from "./stream.mjs";
const check = async () => console.log(await (await fetch(%q)).text());
follow(%q, { check, event: (name, data) => console.log(name, JSON.stringify(data)) });
setTimeout(() => process.exit(), 1000);`, server.URL+checkPath, server.URL)
	for name, text := range map[string]string{"stream.mjs": string(reader), "run.mjs": script} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "node", filepath.Join(folder, "run.mjs")).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestAnEventHasItsWholeLineAndComesAfterTheCheck(t *testing.T) {
	t.Parallel()
	out := followed(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == checkPath {
			_, _ = fmt.Fprint(w, "checked")
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "event: worklist\ndata: {\"comment\":\"a\u2028b\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	if want := "checked\nworklist {\"comment\":\"a\u2028b\"}\n"; out != want {
		t.Errorf("events = %q, want %q", out, want)
	}
}

func TestARetryTimeThatIsADateIsNoReasonToHurry(t *testing.T) {
	t.Parallel()
	for _, after := range []string{"Wed, 21 Oct 2037 07:28:00 GMT", "9999999", strings.Repeat("9", 400)} {
		var requests atomic.Int32
		followed(t, func(w http.ResponseWriter, _ *http.Request) {
			requests.Add(1)
			w.Header().Set("Retry-After", after)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		if n := requests.Load(); n > 2 {
			t.Errorf("Retry-After %.30s: %d requests in a second", after, n)
		}
	}
}
