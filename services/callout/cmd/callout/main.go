// Command callout is the service of critical results: it finds them, tells of them, and proves that someone was told.
package main

import "github.com/labplatform/labplatform/services/callout/internal/app"

// version is set by the build.
var version = "dev"

func main() { app.Service.Main(version) }
