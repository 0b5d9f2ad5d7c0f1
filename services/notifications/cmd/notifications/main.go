// Command notifications is the service for the inbox, notification preferences and push topics.
package main

import "github.com/labplatform/labplatform/services/notifications/internal/app"

// version is set by the build.
var version = "dev"

func main() { app.Service.Main(version) }
