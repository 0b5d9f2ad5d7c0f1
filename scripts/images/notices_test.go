package images

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"io"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// checkNotices checks that the notices in the image list every module that its program was linked from.
func checkNotices(t *testing.T, name string, image v1.Image) {
	t.Helper()
	files := filesOf(t, image, "ko-app/"+name, "var/run/ko/NOTICES.txt")
	info, err := buildinfo.Read(bytes.NewReader(files["ko-app/"+name]))
	if err != nil {
		t.Fatal(err)
	}
	notices := string(files["var/run/ko/NOTICES.txt"])
	modules := []string{"Go standard library " + info.GoVersion}
	for _, m := range info.Deps {
		if !strings.HasPrefix(m.Path, "github.com/labplatform/") {
			modules = append(modules, m.Path+" "+m.Version)
		}
	}
	for _, m := range modules {
		if !strings.Contains(notices, "\n  "+m+"\n") || !strings.Contains(notices, "\n"+m+": ") {
			t.Errorf("the notices of %s lack %s, or its licence", name, m)
		}
	}
	if !strings.Contains(notices, "Apache License") {
		t.Errorf("the notices of %s lack the platform's own licence", name)
	}
}

// filesOf returns files of an image by name. Names have no leading slash.
func filesOf(t *testing.T, image v1.Image, names ...string) map[string][]byte {
	t.Helper()
	reader := mutate.Extract(image)
	defer reader.Close()
	found := map[string][]byte{}
	for archive := tar.NewReader(reader); ; {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.TrimPrefix(header.Name, "/") != name {
				continue
			}
			if found[name], err = io.ReadAll(archive); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range names {
		if found[name] == nil {
			t.Fatalf("the image has no file %s", name)
		}
	}
	return found
}
