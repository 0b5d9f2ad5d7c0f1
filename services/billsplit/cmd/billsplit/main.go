// Command billsplit is the service that moves billed tests to a new bill.
package main

import "github.com/labplatform/labplatform/services/billsplit/internal/app"

// version is set by the build.
var version = "dev"

func main() { app.Service.Main(version) }
