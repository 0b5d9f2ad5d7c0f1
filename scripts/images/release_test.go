package images

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMakeImagesWritesDownWhatItPushed runs `make images`. The digests that it writes, as values of charts/lab, must be
// those of the registry.
func TestMakeImagesWritesDownWhatItPushed(t *testing.T) {
	host := startRegistry(t)
	digests, images := filepath.Join(t.TempDir(), "digests.yaml"), filepath.Join(t.TempDir(), "images.txt")
	bin, err := filepath.Abs(filepath.Join(root, ".bin"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "make", "--no-print-directory", "images", "--old-file="+filepath.Join(bin, "ko"),
		"--old-file="+filepath.Join(bin, "notices"), "REGISTRY="+host+"/lab", "VERSION=1.2.3", "PLATFORM=linux/amd64",
		"DEPLOYABLES=./services/cellcounter/cmd/cellcounter", "DIGESTS="+digests, "IMAGES="+images)
	command.Dir = root
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GOWORK=") {
			command.Env = append(command.Env, v)
		}
	}
	command.Env = append(command.Env, "KO_DEFAULTBASEIMAGE="+pushBase(t, host))
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("got %v\n%s", err, out)
	}
	want := digest(t, pull(t, host+"/lab/cellcounter:1.2.3"))
	if got, line := text(t, digests), "cellcounter: {image: {repository: "+host+"/lab/cellcounter, digest: \""+want+"\"}}\n"; got != line {
		t.Errorf("the digests are %q, want %q", got, line)
	}
	if got, line := text(t, images), host+"/lab/cellcounter:1.2.3@"+want+"\n"; got != line {
		t.Errorf("the references are %q, want %q", got, line)
	}
}

// TestSigningSignsEveryImageAndItsBill uses a fake cosign that writes its arguments into a file. They must include
// every image and its bill of materials.
func TestSigningSignsEveryImageAndItsBill(t *testing.T) {
	for _, c := range []struct{ fails, want string }{
		{"never", "sign --yes r/a@sha256:1\ndownload sbom r/a@sha256:1\nattest --yes --type spdxjson r/a@sha256:1\n" +
			"sign --yes r/b@sha256:2\ndownload sbom r/b@sha256:2\nattest --yes --type spdxjson r/b@sha256:2\n"},
		{"sign", "sign --yes r/a@sha256:1\n"},
		{"download", "sign --yes r/a@sha256:1\ndownload sbom r/a@sha256:1\n"},
	} {
		folder := t.TempDir()
		fake := "#!/bin/sh\necho \"$@\" | sed 's/ --predicate [^ ]*//' >>" + folder + "/said\n[ $1 != " + c.fails + " ] || exit 1\n[ $1 != download ] || echo '{}'\n"
		if err := os.WriteFile(filepath.Join(folder, "cosign"), []byte(fake), 0o700); err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), "./sign.sh")
		command.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
		command.Stdin = bytes.NewBufferString("r/a@sha256:1\nr/b@sha256:2\n")
		if err := command.Run(); (err == nil) != (c.fails == "never") {
			t.Errorf("cosign that fails at %s gave %v", c.fails, err)
		}
		if said := text(t, filepath.Join(folder, "said")); said != c.want {
			t.Errorf("cosign that fails at %s was called\n%swant\n%s", c.fails, said, c.want)
		}
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
