// Command search is the service for finding patients.
package main

import (
	"context"
	"os"

	"github.com/labplatform/labplatform/pkg/command"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/services/search/internal/app"
)

// version is set by the build.
var version = "dev"

func main() {
	command.Service{
		Name:    "search",
		Summary: "finds patients by name, telephone or any identifier, within one laboratory",
		Serve: command.With(app.Load, func(ctx context.Context, cfg app.Config) error {
			return app.Serve(ctx, cfg, version, os.Stderr)
		}),
		PrintConfig: command.With(app.Load, func(_ context.Context, cfg app.Config) error {
			return config.Print(os.Stdout, app.Prefix, &cfg)
		}),
		CheckReady: command.With(app.Load, app.CheckHealth),
	}.Main()
}
