// Command notifications is the service of the inbox, of preferences and of push topics.
package main

import (
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/notifications/internal/app"
)

// version is set by the build.
var version = "dev"

func main() {
	service.Binary[app.Config]{
		Name:    app.Name,
		Summary: "keeps users' inboxes and preferences, and sends notifications to push topics",
		Version: version, Prefix: app.Prefix, Load: app.Load, Serve: app.Serve, Migrate: app.Migrate,
		Admin: func(cfg app.Config) httpserver.Config { return cfg.Admin },
		Locks: app.Locks(), Database: func(cfg app.Config) mysqldb.Config { return cfg.DB },
	}.Main()
}
