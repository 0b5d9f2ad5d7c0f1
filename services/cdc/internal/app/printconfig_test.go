package app_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/settingstest"
	"github.com/labplatform/labplatform/services/cdc/internal/app"
)

// TestThePrintedSettingsAreTheDocumentedOnes fails if a variable or a default differs from the golden file. After a
// change, update README.md and the golden file.
func TestThePrintedSettingsAreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	cfg, err := app.Load([]string{"CDC_SERVICE_TOKEN_SECRET=ssssssssssssssssssssssssssssssss"})
	if err != nil {
		t.Fatal(err)
	}
	settingstest.Printed(t, "testdata/print-config.txt", app.Prefix, &cfg)
}
