// Command cdc runs the change capture consumer, which keeps user_meta and the search index in step with the database.
package main

import (
	"os"

	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/cdc/internal/app"
)

// version is set at build time.
var version = "dev"

func main() {
	service.Binary[app.Config]{
		Name:    app.Name,
		Summary: "keeps the search index in step with the database",
		Version: version, Prefix: app.Prefix, Load: app.Load, Serve: app.Serve, Migrate: app.Migrate,
		Admin: func(cfg app.Config) httpserver.Config { return cfg.Admin },
		Locks: app.Locks(), Database: func(cfg app.Config) mysqldb.Config { return cfg.DB },
		More: app.OperatorVerbs(os.Stdout),
	}.Main()
}
