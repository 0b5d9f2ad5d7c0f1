package images

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const (
	root = "../.."
	// most is the maximum compressed size of an image in bytes, so that a node without any layer of it can start a pod
	// within seconds.
	most = 40 << 20
)

// TestEveryImage builds all deployables as `make images` does, and checks their user, size, bill of materials and
// notices.
func TestEveryImage(t *testing.T) {
	host := startRegistry(t)
	images := build(t, root, host, pushBase(t, host), deployables(t)...)
	for name, image := range images {
		t.Run(name, func(t *testing.T) {
			file, err := image.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			if file.Config.User != nonroot || !slices.Equal(file.Config.Entrypoint, []string{"/ko-app/" + name}) {
				t.Errorf("user %q, entrypoint %q", file.Config.User, file.Config.Entrypoint)
			}
			if size := compressed(t, image); size > most {
				t.Errorf("%d MB compressed, at most %d are allowed", size>>20, most>>20)
			} else {
				t.Logf("%.1f MB compressed", float64(size)/(1<<20))
			}
			checkBill(t, host, name, image)
			checkNotices(t, name, image)
		})
	}
}

// TestTwoBuildsAreOneDigest builds the smallest deployable a second time, from a copy of the source in another folder.
// Both images must have the same digest.
func TestTwoBuildsAreOneDigest(t *testing.T) {
	host := startRegistry(t)
	base := pushBase(t, host)
	const which = "cellcounter"
	first := digest(t, build(t, root, host, base, "services/cellcounter/cmd/cellcounter")[which])
	second := digest(t, build(t, copied(t), host, base, "services/cellcounter/cmd/cellcounter")[which])
	if first != second {
		t.Errorf("the same source gave %s and, in another folder, %s", first, second)
	}
}

// deployables returns the folders of all main packages that are shipped.
func deployables(t *testing.T) []string {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(root, "services/*/cmd/*"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("no services: %v", err)
	}
	out := []string{"gateway/cmd/gateway"}
	for _, folder := range folders {
		out = append(out, strings.TrimPrefix(folder, root+"/"))
	}
	return out
}

// build runs the builder of `make images` and returns the pushed images by deployable.
func build(t *testing.T, source, host, base string, folders ...string) map[string]v1.Image {
	t.Helper()
	args := []string{"build", "--base-import-paths", "--sbom=spdx", "--platform=linux/amd64", "--tags=test"}
	for _, folder := range folders {
		args = append(args, "./"+folder)
	}
	run(t, source, nil, "notices", folders...)
	run(t, source, []string{"KO_DOCKER_REPO=" + host, "KO_DEFAULTBASEIMAGE=" + base, "VERSION=test"}, "ko", args...)
	images := map[string]v1.Image{}
	for _, folder := range folders {
		images[filepath.Base(folder)] = pull(t, host+"/"+filepath.Base(folder)+":test")
	}
	return images
}

// run runs a tool, built by `make images-test`, in the folder source.
func run(t *testing.T, source string, environ []string, tool string, args ...string) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, ".bin", tool))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = source
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOWORK=") }), environ...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v (make images-test builds it)\n%s", tool, err, said.String())
	}
}

func pull(t *testing.T, reference string) v1.Image {
	t.Helper()
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: "amd64"}))
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func digest(t *testing.T, image v1.Image) string {
	t.Helper()
	d, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

func compressed(t *testing.T, image v1.Image) (size int64) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, layer := range layers {
		n, err := layer.Size()
		if err != nil {
			t.Fatal(err)
		}
		size += n
	}
	return size
}

// checkBill checks the bill of materials that is stored next to the image in the registry.
func checkBill(t *testing.T, host, which string, image v1.Image) {
	t.Helper()
	bill := pull(t, host+"/"+which+":"+strings.Replace(digest(t, image), ":", "-", 1)+".sbom")
	layers, err := bill.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	reader, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Version  string                  `json:"spdxVersion"`
		Packages []struct{ Name string } `json:"packages"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	grpc := slices.ContainsFunc(document.Packages, func(p struct{ Name string }) bool { return p.Name == "google.golang.org/grpc" })
	if !strings.HasPrefix(document.Version, "SPDX-") || !grpc {
		t.Errorf("the bill says %q and lists %d packages, grpc: %v", document.Version, len(document.Packages), grpc)
	}
}

// copied returns a new folder with the files of the repository.
func copied(t *testing.T) string {
	t.Helper()
	target := t.TempDir()
	const script = `git -C "$1" ls-files -z --cached --others --exclude-standard | (cd "$1" && xargs -0 cp -a --parents -t "$2")`
	if out, err := exec.CommandContext(t.Context(), "bash", "-c", script, "copy", root, target).CombinedOutput(); err != nil {
		t.Fatalf("got %v\n%s", err, out)
	}
	return target
}
