// Command cdc is the change-capture consumer: it keeps user_meta and the search index in step with the database.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/labplatform/labplatform/pkg/command"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/services/cdc/internal/app"
)

// version is set by the build.
var version = "dev"

func main() {
	command.Service{
		Name:    "cdc",
		Summary: "keeps the search index in step with the database",
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
		More:       app.OperatorVerbs(os.Stdout),
	}.Main()
}
