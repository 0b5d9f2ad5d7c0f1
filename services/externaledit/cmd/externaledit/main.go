// Command externaledit is the service of reports that are edited as Word documents in a desktop client.
package main

import (
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/externaledit/internal/app"
)

// version is set by the build.
var version = "dev"

func main() {
	service.Binary[app.Config]{
		Name:    app.Name,
		Summary: "keeps the sessions in which reports are edited as Word documents, and every save of them",
		Version: version, Prefix: app.Prefix, Load: app.Load, Serve: app.Serve, Migrate: app.Migrate,
		Admin: func(cfg app.Config) httpserver.Config { return cfg.Admin },
		Locks: app.Locks(), Database: func(cfg app.Config) mysqldb.Config { return cfg.DB },
	}.Main()
}
