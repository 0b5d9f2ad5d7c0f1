package app_test

import (
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/settingstest"
	"github.com/labplatform/labplatform/services/notifications/internal/app"
)

// TestThePrintedSettingsAreTheDocumentedOnes fails if a variable or a default changed. Then update README.md and the
// golden file.
func TestThePrintedSettingsAreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	cfg, err := app.Service.Load([]string{"NOTIFICATIONS_SERVICE_TOKEN_SECRET=ssssssssssssssssssssssssssssssss"})
	if err != nil {
		t.Fatal(err)
	}
	settingstest.Printed(t, "testdata/print-config.txt", app.Service.Prefix, &cfg)
}

func TestProductionRefusesAProviderThatSubscribesNoDevice(t *testing.T) {
	t.Parallel()
	load := func(environment, provider string) error {
		_, err := app.Service.Load([]string{"NOTIFICATIONS_SERVICE_TOKEN_SECRET=ssssssssssssssssssssssssssssssss",
			"NOTIFICATIONS_TOPIC_KEY=kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk",
			"NOTIFICATIONS_ENVIRONMENT=" + environment, "NOTIFICATIONS_PUSH_PROVIDER=" + provider})
		return err
	}
	if err := load("production", "mailbox"); err == nil || !strings.Contains(err.Error(), "use fcm in production, or off") {
		t.Errorf("mailbox in production: %v, want it refused with the alternatives", err)
	}
	for _, fine := range [][2]string{{"production", "off"}, {"e2e", "mailbox"}} {
		if err := load(fine[0], fine[1]); err != nil {
			t.Errorf("%v: %v, want no error", fine, err)
		}
	}
}

func TestTheKeyOfTopicsIsCheckedAtTheStart(t *testing.T) {
	t.Parallel()
	const service, key, next = "ssssssssssssssssssssssssssssssss", "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk", "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
	for _, c := range []struct{ environment, keys, problem string }{
		{"production", "", "TOPIC_KEY must be set"},
		{"staging", "", "TOPIC_KEY must be set"},
		{"production", "unkeyed", "TOPIC_KEY must be set"},
		{"production", "short", "TOPIC_KEY must have at least 32 bytes"},
		{"dev", "unkeyed,short", "TOPIC_KEY must have at least 32 bytes"},
		{"dev", key + "," + key, "the same secret twice"},
		{"dev", service, "must differ"},
		{"production", key, ""},
		{"staging", "unkeyed," + key, ""},
		{"production", next + "," + key, ""},
		{"dev", "", ""},
	} {
		_, err := app.Service.Load([]string{"NOTIFICATIONS_SERVICE_TOKEN_SECRET=" + service, "NOTIFICATIONS_PUSH_PROVIDER=off",
			"NOTIFICATIONS_ENVIRONMENT=" + c.environment, "NOTIFICATIONS_TOPIC_KEY=" + c.keys})
		if (err != nil) != (c.problem != "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%q in %s: %v, want %q", c.keys, c.environment, err, c.problem)
		}
	}
}
