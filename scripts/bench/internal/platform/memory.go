package platform

import (
	"github.com/labplatform/labplatform/scripts/bench/internal/process"
	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
)

// services returns the summed memory of the services. Engines are recognised by the lack of a service's variables.
func services(e endpoints.Endpoints) float64 {
	sum := 0.0
	for name, pid := range e.PIDs {
		if len(e.Environ[name]) == 0 {
			continue
		}
		if mib, err := process.RSS(pid); err == nil {
			sum += mib
		}
	}
	return sum
}
