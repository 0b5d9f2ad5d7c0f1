// Command notifications is the service of the inbox, of preferences and of push topics.
package main

import (
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
		HealthPort: func(cfg app.Config) int { return cfg.Admin.AdminPort },
		Locks:      app.Locks(), Database: func(cfg app.Config) mysqldb.Config { return cfg.DB },
	}.Main()
}
