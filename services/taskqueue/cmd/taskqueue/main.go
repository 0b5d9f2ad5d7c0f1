// Command taskqueue is the service for background tasks: SMS, email, push, webhooks, WhatsApp.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/labplatform/labplatform/pkg/command"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/services/taskqueue/internal/app"
)

// version is set by the build.
var version = "dev"

func main() {
	command.Service{
		Name:    "taskqueue",
		Summary: "accepts background tasks and delivers them: SMS, email, push, webhooks, WhatsApp",
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
		More:       app.OperatorVerbs(),
	}.Main()
}
