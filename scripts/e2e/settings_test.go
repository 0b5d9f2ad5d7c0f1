package e2e

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/services"
)

// TestWrongSettingsAreToldAllAtOnceAndNothingListens starts every service with three invalid settings: a value of the
// wrong type, a value that is not among the allowed ones, and one below the minimum. The error must name all three, and
// no port may be opened.
func TestWrongSettingsAreToldAllAtOnceAndNothingListens(t *testing.T) {
	t.Parallel()
	for _, s := range services.List() {
		if s.Pipeline { // this stack does not run it
			continue
		}
		service, prefix := s.Name, s.Prefix
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			argv := stack.Endpoints.Commands[service]
			cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
			for key, value := range stack.Endpoints.Environ[service] {
				cmd.Env = append(cmd.Env, key+"="+value)
			}
			cmd.Env = append(cmd.Env, prefix+"_LOG_LEVEL=LOUD", prefix+"_ENVIRONMENT=prod", prefix+"_ADMIN_PORT=-5")
			out, err := cmd.CombinedOutput()
			var failed *exec.ExitError
			if !errors.As(err, &failed) || failed.ExitCode() != 1 {
				t.Errorf("it ended with %v", err)
			}
			for _, problem := range []string{"_LOG_LEVEL", "ENVIRONMENT is \"prod\"", "_ADMIN_PORT is -5"} {
				if !strings.Contains(string(out), problem) {
					t.Errorf("it does not name %s:\n%s", problem, out)
				}
			}
			if strings.Contains(string(out), "listening") {
				t.Errorf("it listened:\n%s", out)
			}
		})
	}
}
