package app_test

import (
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services/taskqueue/internal/app"
)

func TestSettingsNameEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := app.Load([]string{"TASKQUEUE_PROFILE=quick", "TASKQUEUE_ACCESS=all", "TASKQUEUE_INTERNAL_ORIGINS=gateway",
		"TASKQUEUE_INTERNAL_NETWORKS=10.0.0.1", "TASKQUEUE_CALLBACK_SECRET=short", "TASKQUEUE_WEBHOOK_WORKERS=0"})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"PROFILE", "ACCESS", "INTERNAL_ORIGINS", "INTERNAL_NETWORKS", "CALLBACK_SECRET", "WEBHOOK_WORKERS"} {
		if !strings.Contains(err.Error(), "TASKQUEUE_"+want) {
			t.Errorf("%s is not named in: %v", want, err)
		}
	}
}

func TestTheOutboxIsOffInProductionUnlessAnOperatorInsists(t *testing.T) {
	t.Parallel()
	for environ, want := range map[string]bool{"": true, "TASKQUEUE_ENVIRONMENT=production": false, "TASKQUEUE_OUTBOX_ENABLED=false": false,
		"TASKQUEUE_ENVIRONMENT=production TASKQUEUE_OUTBOX_IN_PRODUCTION=true": true} {
		cfg, err := app.Load(append(strings.Fields(environ), "TASKQUEUE_SERVICE_TOKEN_SECRET="+strings.Repeat("s", 32)))
		if err != nil {
			t.Fatal(err)
		}
		if cfg.OutboxEnabled() != want {
			t.Errorf("%q: %v", environ, !want)
		}
	}
}
