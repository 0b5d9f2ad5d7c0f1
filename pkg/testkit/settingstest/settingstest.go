// Package settingstest compares a service's settings with a committed file, so that a variable or default cannot change
// unnoticed by operators.
package settingstest

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/config"
)

// Printed fails if the settings of cfg, a pointer to a struct, differ from the file at path. After a change, update the
// service's README and write the file with UPDATE_GOLDEN=1.
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
		t.Errorf("the settings differ from %s; change README.md, write the file with UPDATE_GOLDEN=1 go test ., and the charts"+
			" with make charts-update; -committed, +printed:\n%s", path, diff)
	}
}
