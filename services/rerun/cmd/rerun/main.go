// Command rerun is the service for testing samples again.
package main

import (
	_ "time/tzdata" // time zones of laboratories, because slim images have none

	"github.com/labplatform/labplatform/services/rerun/internal/app"
)

// version is set by the build.
var version = "dev"

func main() { app.Service.Main(version) }
