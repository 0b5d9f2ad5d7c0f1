// Command billsplit is the service that moves billed tests to a new bill.
package main

import (
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/billsplit/internal/app"
)

// version is set by the build.
var version = "dev"

func main() {
	service.Binary[app.Config]{
		Name:    app.Name,
		Summary: "moves billed tests of a bill to a new bill, exact to the paisa",
		Version: version, Prefix: app.Prefix, Load: app.Load, Serve: app.Serve, Migrate: app.Migrate,
		Admin: func(cfg app.Config) httpserver.Config { return cfg.Admin },
	}.Main()
}
