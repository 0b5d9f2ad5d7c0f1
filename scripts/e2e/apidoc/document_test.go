package apidoc

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// served writes the API document that the gateway serves into a file and returns its path.
func served(t *testing.T) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, platform.Endpoints.Gateway+"/openapi.json", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("got %s, %v, want 200", response.Status, err)
	}
	path := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// `make check` validates the committed document with redocly; this test validates the served one.
func TestTheDocumentIsValid(t *testing.T) {
	t.Log(command(t, ".", pythonTool(t, "openapi-spec-validator"), served(t)))
}
