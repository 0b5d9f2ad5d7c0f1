package app_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/services/cellcounter/internal/app"
)

// TestThePrintedSettingsAreTheDocumentedOnes fails when a variable or a default changes: change README.md and the
// golden file with it.
func TestThePrintedSettingsAreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	cfg, err := app.Load([]string{"CELL_COUNTER_SERVICE_TOKEN_SECRET=ssssssssssssssssssssssssssssssss"})
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := config.Print(&got, app.Prefix, &cfg); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/print-config.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Fatal(diff)
	}
}
