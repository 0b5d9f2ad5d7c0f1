package platform

import (
	"github.com/labplatform/labplatform/scripts/bench/internal/process"
	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
)

// services sums the memory of everything that is ours; what is not are the engines, which have no variables of a
// service.
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
