package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/scripts/devstack/internal/roster"
	"github.com/labplatform/labplatform/scripts/devstack/internal/secrets"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
)

// printInternalToken prints a token for the gateway's internal listener, or for the gRPC port of the service after
// --for.
func printInternalToken(s settings.Settings, args []string, stdout io.Writer) (int, error) {
	callee, err := calleeOf(args)
	if err != nil {
		return 2, err
	}
	kept, err := secrets.Load(s.Dir)
	if err != nil {
		return 1, fmt.Errorf("no secrets in %s (start the stack once): %w", s.Dir, err)
	}
	token, err := kept.OperatorToken(clock.System{}, callee)
	if err != nil {
		return 1, err
	}
	fmt.Fprintln(stdout, token)
	return 0, nil
}

func calleeOf(args []string) (string, error) {
	flags := flag.NewFlagSet("print-internal-token", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	callee := flags.String("for", secrets.Gateway, "the service that the token is for")
	if err := flags.Parse(args); err != nil {
		return "", fmt.Errorf("print-internal-token: %w; use devstack print-internal-token --for SERVICE", err)
	}
	if flags.NArg() > 0 {
		return "", fmt.Errorf(
			"print-internal-token: %q is not understood; use devstack print-internal-token --for SERVICE",
			flags.Arg(0),
		)
	}
	known := []string{secrets.Gateway}
	for _, service := range roster.Table() {
		if service.Name != secrets.Gateway {
			known = append(known, service.Name)
		}
	}
	if !slices.Contains(known, *callee) {
		return "", errors.New(
			"print-internal-token: there is no service " + *callee + "; services are " + strings.Join(known, ", "),
		)
	}
	return *callee, nil
}
