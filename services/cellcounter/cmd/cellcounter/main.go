// Command cellcounter serves the key mappings and counts of manual differential blood counts.
package main

import "github.com/labplatform/labplatform/services/cellcounter/internal/app"

// version is set by the linker.
var version = "dev"

func main() { app.Service.Main(version) }
