package app_test

import (
	"testing"

	"github.com/labplatform/labplatform/gateway/internal/app"
	"github.com/labplatform/labplatform/pkg/testkit/settingstest"
)

// The printed settings match README.md and the golden file; change both with a variable or a default.
func TestPrintedSettingsAreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	cfg, err := app.Load([]string{"GATEWAY_SERVICE_TOKEN_SECRET=ssssssssssssssssssssssssssssssss"})
	if err != nil {
		t.Fatal(err)
	}
	settingstest.Printed(t, "testdata/print-config.txt", app.Prefix, &cfg)
}
