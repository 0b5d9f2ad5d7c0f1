package app_test

import (
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/settingstest"
	"github.com/labplatform/labplatform/services/externaledit/internal/app"
)

// required returns the variables without which the service does not start.
func required() []string {
	return []string{
		"EXTERNAL_EDIT_BLOB_URL=file:///var/lib/lab/objects", "EXTERNAL_EDIT_BLOB_PUBLIC_URL=http://127.0.0.1:8012/files",
		"EXTERNAL_EDIT_BLOB_SIGNING_SECRET=" + strings.Repeat("b", 32), "EXTERNAL_EDIT_TOKEN_SECRET=" +
			strings.Repeat("t", 32), "EXTERNAL_EDIT_SERVICE_TOKEN_SECRET=" + strings.Repeat("s", 32),
	}
}

// TestThePrintedSettingsAreTheDocumentedOnes fails if a variable or a default changed. Then update README.md and the
// golden file.
func TestThePrintedSettingsAreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	cfg, err := app.Service.Load(required())
	if err != nil {
		t.Fatal(err)
	}
	settingstest.Printed(t, "testdata/print-config.txt", app.Service.Prefix, &cfg)
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"EXTERNAL_EDIT_TOKEN_SECRET=short":                             "at least 32 bytes",
		"EXTERNAL_EDIT_JWT_SECRET=" + strings.Repeat("t", 32):          "differ",
		"EXTERNAL_EDIT_BLOB_SIGNING_SECRET=" + strings.Repeat("t", 32): "differ",
		"EXTERNAL_EDIT_TOKEN_TTL_SECONDS=0":                            "TOKEN_TTL_SECONDS",
		"EXTERNAL_EDIT_EVENT_STREAM_SECONDS=-1":                        "EVENT_STREAM_SECONDS",
		"EXTERNAL_EDIT_DOWNLOAD_LINK_SECONDS=604801":                   "DOWNLOAD_LINK_SECONDS",
		"EXTERNAL_EDIT_SWEEP_UPLOAD_AGE=1s":                            "SWEEP_UPLOAD_AGE",
	} {
		if _, err := app.Service.Load(append(required(), text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
