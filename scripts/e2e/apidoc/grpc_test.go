package apidoc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// generation is the buf.gen.yaml that an external developer writes next to the unpacked contracts. It generates Go code
// in a module of their own.
const generation = `version: v2
managed:
  enabled: true
  disable:
    - path: google
    - path: protoc-gen-openapiv2
  override:
    - {file_option: go_package_prefix, value: client/gen}
plugins:
  - {local: %[1]s/protoc-gen-go, out: gen, opt: paths=source_relative}
  - {local: %[1]s/protoc-gen-go-grpc, out: gen, opt: paths=source_relative}
`

// TestAGRPCClientIsBuiltFromTheArchiveAlone generates, compiles and runs a client in a module that depends on no module
// of the platform. The client checks the health of the task queue, enqueues a message, and reads the reason of a
// refusal.
func TestAGRPCClientIsBuiltFromTheArchiveAlone(t *testing.T) {
	for _, program := range []string{"npm", "make", "tar"} {
		needs(t, program)
	}
	bin, tools := absolute(t, filepath.Join(root, ".bin")), absolute(t, filepath.Join(root, "scripts/tools"))
	archive := strings.TrimSpace(lastLine(command(t, root, "make", "-s", "protos")))
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/grpcclient")); err != nil {
		t.Fatal(err)
	}
	contracts := filepath.Join(folder, "contracts")
	if err := os.Mkdir(contracts, 0o755); err != nil {
		t.Fatal(err)
	}
	command(t, contracts, "tar", "-xzf", archive)
	write(t, filepath.Join(folder, "buf.gen.yaml"), fmt.Sprintf(generation, bin))
	command(t, root, "make", "-s", filepath.Join(tools, "node_modules/.bin/buf"))
	command(t, folder, filepath.Join(tools, "node_modules/.bin/buf"), "generate", "contracts", "--path", "contracts/lab")
	t.Setenv("GOWORK", "off")
	command(t, folder, "go", "build", "-o", "grpcclient", ".")
	token, err := exec.CommandContext(t.Context(), platform.Endpoints.InternalTokenCommand[0],
		append(platform.Endpoints.InternalTokenCommand[1:], "--for", "taskqueue")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	out := command(t, folder, "./grpcclient", platform.Endpoints.GRPC["taskqueue"], strings.TrimSpace(string(token)))
	for _, want := range []string{"health SERVING", "enqueued 1, the repeat true", "refused TOKEN_MALFORMED"} {
		if !strings.Contains(out, want) {
			t.Errorf("the client says\n%s\nwant %q", out, want)
		}
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
