// Package settingstest compares what a service prints of its settings with what is committed, so that a variable or a
// default never changes unnoticed by those who run the service.
package settingstest

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/config"
)

// Printed fails when the settings of cfg, a pointer to a struct, differ from the file at path: change the service's
// README with the file. With UPDATE_GOLDEN=1 in the environment it writes the file.
func Printed(t testing.TB, path, prefix string, cfg any) {
	t.Helper()
	var got bytes.Buffer
	if err := config.Print(&got, prefix, cfg); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("the settings are not those of %s; change README.md, write the file with UPDATE_GOLDEN=1 go test ., and the charts"+
			" with make charts-update; -committed, +printed:\n%s", path, diff)
	}
}
