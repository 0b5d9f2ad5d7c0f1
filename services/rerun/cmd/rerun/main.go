// Command rerun is the service for testing samples again.
package main

import (
	_ "time/tzdata" // laboratories have time zones, slim images have none

	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/rerun/internal/app"
)

// version is set by the build.
var version = "dev"

func main() {
	service.Binary[app.Config]{
		Name:    app.Name,
		Summary: "records sample reruns: requests, the values of instruments, and what was decided on them",
		Version: version, Prefix: app.Prefix, Load: app.Load, Serve: app.Serve, Migrate: app.Migrate,
		Admin: func(cfg app.Config) httpserver.Config { return cfg.Admin },
		Locks: app.Locks(), Database: func(cfg app.Config) mysqldb.Config { return cfg.DB },
	}.Main()
}
