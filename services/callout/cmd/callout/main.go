// Command callout is the service of critical results: it finds them, notifies clinicians, and records the calls.
package main

import (
	"os"

	"github.com/labplatform/labplatform/services/callout/internal/app"
)

// version is set by the build.
var version = "dev"

func main() {
	service := app.Service
	service.More = app.Verbs(os.Environ(), os.Stdout)
	service.Main(version)
}
