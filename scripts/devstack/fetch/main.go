// Command fetch installs the engines' programs that a local stack needs with the environment's switches. It compiles in
// seconds, so that it can run while devstack and the services are built.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/labplatform/labplatform/scripts/devstack/internal/install"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := fetch(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "fetch:", err)
		os.Exit(1)
	}
}

func fetch(ctx context.Context) error {
	s, err := settings.Load("", os.Getenv)
	if err != nil {
		return err
	}
	wanted := install.WantedBy(s)
	if err := install.Packages(ctx, wanted, os.Stderr); err != nil {
		return err
	}
	_, err = install.FetchJava(ctx, wanted, os.Stderr)
	return err
}
