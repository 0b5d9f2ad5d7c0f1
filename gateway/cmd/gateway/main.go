// Command gateway is the REST edge of the laboratory platform.
package main

import (
	"context"
	"os"

	"github.com/labplatform/labplatform/gateway/internal/app"
	"github.com/labplatform/labplatform/pkg/command"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/httpserver"
)

// version is set by the linker.
var version = "dev"

func main() {
	command.Service{
		Name:    "gateway",
		Summary: "the REST edge of the laboratory platform",
		Serve: command.With(app.Load, func(ctx context.Context, cfg app.Config) error {
			return app.Run(ctx, cfg, version, os.Environ(), os.Stderr)
		}),
		PrintConfig: command.With(app.Load, func(_ context.Context, cfg app.Config) error {
			return config.Print(os.Stdout, app.Prefix, &cfg)
		}),
		CheckReady: command.With(app.Load, func(ctx context.Context, cfg app.Config) error {
			return httpserver.CheckReady(ctx, cfg.Admin.AdminPort)
		}),
	}.Main()
}
