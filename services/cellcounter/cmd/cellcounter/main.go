// Command cellcounter serves the key mappings and counts of manual differential blood counts.
package main

import (
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/cellcounter/internal/app"
)

// version is set by the linker.
var version = "dev"

func main() {
	service.Binary[app.Config]{
		Name:    app.Name,
		Summary: "maps keys and cells to report parameters, and computes differential counts",
		Version: version, Prefix: app.Prefix, Load: app.Load, Serve: app.Serve, Migrate: app.Migrate,
		Admin: func(cfg app.Config) httpserver.Config { return cfg.Admin },
	}.Main()
}
