// Command externaledit is the service that lets users edit reports as Word documents in a desktop client.
package main

import "github.com/labplatform/labplatform/services/externaledit/internal/app"

// version is set by the build.
var version = "dev"

func main() { app.Service.Main(version) }
