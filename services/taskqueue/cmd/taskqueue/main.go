// Command taskqueue runs the task queue service, which delivers SMS, e-mail, push, webhooks and WhatsApp messages.
package main

import (
	"os"

	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/taskqueue/internal/app"
)

// version is set at build time.
var version = "dev"

func main() {
	service.Binary[app.Config]{
		Name:    app.Name,
		Summary: "accepts background tasks and delivers them: SMS, email, push, webhooks, WhatsApp",
		Version: version, Prefix: app.Prefix, Load: app.Load, Serve: app.Serve, Migrate: app.Migrate,
		Admin: func(cfg app.Config) httpserver.Config { return cfg.Admin },
		More:  app.Verbs(os.Environ(), os.Stdout, os.Stderr),
	}.Main()
}
