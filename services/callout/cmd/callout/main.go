// Command callout is the service of critical results: it finds them, tells of them, and proves that someone was told.
package main

import (
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/callout/internal/app"
)

// version is set by the build.
var version = "dev"

func main() {
	service.Binary[app.Config]{
		Name:    app.Name,
		Summary: "finds critical results, and records who was told of them",
		Version: version, Prefix: app.Prefix, Load: app.Load, Serve: app.Serve, Migrate: app.Migrate,
		Admin: func(cfg app.Config) httpserver.Config { return cfg.Admin },
		Locks: app.Locks(), Database: func(cfg app.Config) mysqldb.Config { return cfg.DB },
	}.Main()
}
