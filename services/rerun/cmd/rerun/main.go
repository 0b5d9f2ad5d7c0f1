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
	program := command.Program{
		Name:    "rerun",
		Summary: "records sample reruns: requests, the values of instruments, and what was decided on them",
		Verbs: []command.Verb{
			{Name: "serve", Summary: "run the service until SIGTERM", Run: withConfig(func(ctx context.Context, cfg app.Config) error {
				return app.Serve(ctx, cfg, version, os.Stderr)
			})},
			{Name: "migrate", Summary: "create or update the service's own tables and indexes", Run: withConfig(func(ctx context.Context, cfg app.Config) error {
				return app.Migrate(ctx, cfg, slog.New(slog.NewTextHandler(os.Stderr, nil)))
			})},
			{Name: "print-config", Summary: "show every setting and its value, secrets masked", Run: withConfig(func(_ context.Context, cfg app.Config) error {
				return config.Print(os.Stdout, app.Prefix, &cfg)
			})},
			{Name: "healthcheck", Summary: "exit 0 when the service on this machine is ready", Run: withConfig(app.CheckHealth)},
		},
	}
	os.Exit(program.Main(os.Args[1:], os.Stdout, os.Stderr))
}

func withConfig(run func(context.Context, app.Config) error) func(context.Context, []string) error {
	return func(ctx context.Context, _ []string) error {
		cfg, err := app.Load(os.Environ())
		if err != nil {
			return err
		}
		return run(ctx, cfg)
	}
}
