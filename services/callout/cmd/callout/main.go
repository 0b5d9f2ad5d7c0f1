// Command callout runs the service for critical results: it detects them, notifies clinicians and records the calls.
package main

import (
	"os"

	"github.com/labplatform/labplatform/services/callout/internal/app"
)

// version is set at build time.
var version = "dev"

func main() {
	service := app.Service
	service.More = app.Verbs(os.Environ(), os.Stdout)
	service.Main(version)
}
