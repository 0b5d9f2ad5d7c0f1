package service_test

import (
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/service"
)

// settings embeds all settings that services share.
type settings struct {
	service.Config
	service.Stores
	service.Webhook
	service.Taskqueue
}

func standard() service.Standard[settings, *settings] {
	return service.Standard[settings, *settings]{Name: "trial", Prefix: "TRIAL_", GRPCPort: 9099, AdminPort: 8099}
}

func TestAStandardServiceHasItsOwnDefaultPorts(t *testing.T) {
	t.Parallel()
	cfg, err := standard().Load([]string{"TRIAL_SERVICE_TOKEN_SECRET=" + strings.Repeat("s", 32)})
	if err != nil || cfg.GRPC.GRPCPort != 9099 || cfg.Admin.AdminPort != 8099 {
		t.Errorf("loaded the ports %d and %d with the error %v, want 9099, 8099 and nil", cfg.GRPC.GRPCPort, cfg.Admin.AdminPort, err)
	}
}

func TestAllProblemsOfSharedSettingsAreNamedOnce(t *testing.T) {
	t.Parallel()
	_, err := standard().Load([]string{"WEBHOOK_URL=gateway:8091", "TRIAL_DB_POOL_SIZE=1", "TRIAL_ADMIN_TLS=true"})
	if err == nil {
		t.Fatal("the settings were accepted, want three problems")
	}
	for _, name := range []string{"WEBHOOK_URL", "DB_POOL_SIZE", "ADMIN_TLS"} {
		if n := strings.Count(err.Error(), name+" "); n != 1 {
			t.Errorf("%s is named %d times in %v, want once", name, n, err)
		}
	}
}
