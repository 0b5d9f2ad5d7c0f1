// Command gateway is the REST edge of the platform.
package main

import (
	"github.com/labplatform/labplatform/gateway/internal/app"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/service"
)

// version is set by the build.
var version = "dev"

func main() {
	service.Binary[app.Config]{
		Name:    app.Name,
		Summary: "the REST edge of the laboratory platform",
		Version: version, Prefix: app.Prefix, Load: app.Load, Serve: app.Serve,
		Admin: func(cfg app.Config) httpserver.Config { return cfg.Admin },
	}.Main()
}
