// Command devstack starts the engines and every service on one machine, and fills them with fixtures.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/labplatform/labplatform/scripts/devstack/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends this process at once; its children follow
	code := cli.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
