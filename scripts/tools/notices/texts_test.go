package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// moduleOf creates a module's folder with the named files and one linked package in a/b.
func moduleOf(t *testing.T, files ...string) module {
	t.Helper()
	root := t.TempDir()
	for _, name := range append(files, "a/b/b.go", "unused/LICENSE") {
		path := filepath.Join(root, name)
		if err := write(path, []byte("text of "+name)); err != nil {
			t.Fatal(err)
		}
	}
	return module{path: "example.org/m", version: "v1.2.3", folders: []string{root, filepath.Join(root, "a", "b")}}
}

func TestTheNoticesHaveEveryTextOfWhatIsLinked(t *testing.T) {
	m := moduleOf(t, "LICENSE.txt", "NOTICE", "a/COPYING", "a/b/LICENCE", "license.go", "README.md")
	got, err := notices("callout", []byte("our licence"), []module{m})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"callout is a program", "our licence", "  example.org/m v1.2.3\n", "example.org/m v1.2.3: LICENSE.txt\n\ntext of LICENSE.txt",
		"text of NOTICE", "text of a/COPYING", "text of a/b/LICENCE"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("want %q in the notices, got:\n%s", want, got)
		}
	}
	for _, unwanted := range []string{"license.go", "README.md", "unused"} {
		if strings.Contains(string(got), unwanted) {
			t.Errorf("want no %q in the notices, got:\n%s", unwanted, got)
		}
	}
}

func TestAModuleWithoutALicenceIsAnError(t *testing.T) {
	_, err := notices("callout", nil, []module{moduleOf(t, "NOTICE", "README.md")})
	if err == nil || !strings.Contains(err.Error(), "example.org/m v1.2.3 has no licence file") {
		t.Errorf("want an error that names the module, got %v", err)
	}
}

func TestTheStandardLibraryAndOtherModulesAreLinked(t *testing.T) {
	t.Chdir("../../..")
	modules, err := linked("gateway/cmd/gateway")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, m := range modules {
		paths = append(paths, m.path)
	}
	list := strings.Join(paths, "\n")
	if !strings.Contains(list, "Go standard library") || !strings.Contains(list, "google.golang.org/grpc") || strings.Contains(list, "labplatform") {
		t.Errorf("want the standard library, grpc and nothing of ours, got:\n%s", list)
	}
}
