package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
)

// runVerb runs a verb of a service's program in the environment that the running stack gives the service.
func runVerb(ctx context.Context, s settings.Settings, args []string) (int, error) {
	if len(args) < 2 { // needs a service and its verb
		return 2, errors.New("exec needs a service and its verb: devstack exec cdc connectors status")
	}
	e, err := endpoints.Read(s.Dir)
	if err != nil {
		return 1, err
	}
	command := e.Commands[args[0]]
	if len(command) == 0 || e.Environ[args[0]] == nil {
		return 2, fmt.Errorf("no service %q runs in this stack", args[0])
	}
	var env []string
	for key, value := range e.Environ[args[0]] {
		env = append(env, key+"="+value)
	}
	return runWith(ctx, append([]string{command[0]}, args[1:]...), env)
}
