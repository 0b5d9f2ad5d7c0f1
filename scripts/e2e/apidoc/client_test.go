package apidoc

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The test generates and compiles a client, and runs it. The client uses the generated types, so it compiles only if
// the document has everything that it uses.
func TestATypeScriptClientIsGeneratedCompiledAndUsed(t *testing.T) {
	generate, compile := npmTool(t, "openapi-typescript"), npmTool(t, "tsc")
	folder := copied(t, "client.ts", "tsconfig.json")
	if err := os.WriteFile(filepath.Join(folder, "package.json"), []byte(`{"type":"module"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(absolute(t, filepath.Join(toolFolder, "node_modules")), filepath.Join(folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	command(t, folder, generate, served(t), "--output", "schema.d.ts")
	command(t, folder, compile, "--project", ".")
	name, _ := savedReport(t, folder)
	word, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	out := command(t, folder, "node", "out/client.js", platform.Endpoints.Gateway, session, "7018", "7010", next31st(time.Now()),
		base64.StdEncoding.EncodeToString(word))
	if strings.Contains(out, "FAIL") || strings.Count(out, "ok  ") < 22 {
		t.Errorf("the client says:\n%s", out)
	}
	t.Log(out)
}
