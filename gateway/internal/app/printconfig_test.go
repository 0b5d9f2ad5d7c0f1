package app_test

import (
	"testing"

	"github.com/labplatform/labplatform/gateway/internal/app"
	"github.com/labplatform/labplatform/pkg/testkit/settingstest"
)

// The test fails when a variable or a default changes: then update README.md and the golden file.
func TestPrintedSettingsAreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	cfg, err := app.Load([]string{"GATEWAY_SERVICE_TOKEN_SECRET=ssssssssssssssssssssssssssssssss"})
	if err != nil {
		t.Fatal(err)
	}
	settingstest.Printed(t, "testdata/print-config.txt", app.Prefix, &cfg)
}
