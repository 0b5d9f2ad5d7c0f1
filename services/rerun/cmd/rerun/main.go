// Command rerun is the service for testing samples again.
package main

import (
	"context"
	"log/slog"
	"os"
	_ "time/tzdata" // laboratories have time zones, slim images have none

	"github.com/labplatform/labplatform/pkg/command"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/services/rerun/internal/app"
)

// version is set by the build.
var version = "dev"

func main() {
	command.Service{
		Name:    "rerun",
		Summary: "records sample reruns: requests, the values of instruments, and what was decided on them",
		Serve: command.With(app.Load, func(ctx context.Context, cfg app.Config) error {
			return app.Serve(ctx, cfg, version, os.Stderr)
		}),
		Migrate: command.With(app.Load, func(ctx context.Context, cfg app.Config) error {
			return app.Migrate(ctx, cfg, slog.New(slog.NewTextHandler(os.Stderr, nil)))
		}),
		PrintConfig: command.With(app.Load, func(_ context.Context, cfg app.Config) error {
			return config.Print(os.Stdout, app.Prefix, &cfg)
		}),
		CheckReady: command.With(app.Load, app.CheckHealth),
	}.Main()
}
