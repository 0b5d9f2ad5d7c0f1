package apidoc

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// served writes what the gateway serves as the API document into a file.
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
		t.Fatalf("%s, %v", response.Status, err)
	}
	path := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheDocumentIsValid(t *testing.T) {
	path := served(t)
	out := command(t, ".", npmTool(t, "redocly"), "lint", "--config", filepath.Join(toolFolder, "redocly.yaml"), path)
	if !strings.Contains(out, "Your API description is valid") || strings.Contains(out, "You have") {
		t.Errorf("redocly: %s", out)
	}
	t.Log(command(t, ".", pythonTool(t, "openapi-spec-validator"), path))
}
