// Command search runs the patient search service.
package main

import (
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/search/internal/app"
)

// version is set at build time.
var version = "dev"

func main() {
	service.Binary[app.Config]{
		Name:    app.Name,
		Summary: "finds patients by name, telephone or any identifier, within one laboratory",
		Version: version, Prefix: app.Prefix, Load: app.Load, Serve: app.Serve,
		Admin: app.Config.Admin,
	}.Main()
}
