package roster

import (
	"slices"

	"github.com/labplatform/labplatform/scripts/devstack/internal/ports"
	"github.com/labplatform/labplatform/services"
)

// Service is a deployable of the list, and what its process gets here.
type Service struct {
	services.Service

	Package    string       // its main package, from the root of the repository
	CallPort   ports.Name   // where others call it; "" when it serves no calls
	HealthPort ports.Name   // where its health and metrics are
	More       []ports.Name // its other listeners

	// Env adds what only this service gets; fixed values win over the caller's environment, defaults do not. It may be
	// nil.
	Env func(Stack) (fixed, defaults Env)
}

// Env is a set of environment variables.
type Env map[string]string

// particular is what single services get.
var particular = map[string]func(Stack) (fixed, defaults Env){
	services.Gateway: gatewayEnv,
	"callout":        calloutEnv,
	"cdc":            cdcEnv,
	"externaledit":   externalEditEnv,
	"notifications":  notificationsEnv,
	"rerun":          rerunEnv,
	"search":         searchEnv,
	"taskqueue":      taskqueueEnv,
}

// Table lists the services in the order in which they are reported.
func Table() []Service {
	list := services.List()
	table := make([]Service, len(list))
	for i, s := range list {
		table[i] = Service{
			Service: s, Package: s.Package(), Env: particular[s.Name],
			CallPort: ports.GRPC(s.Name), HealthPort: ports.Admin(s.Name),
		}
		if s.Name == services.Gateway {
			table[i].CallPort, table[i].More = "", []ports.Name{ports.Gateway, ports.GatewayInternal}
		}
	}
	return table
}

// WithoutPipeline returns the services that run without Kafka, Kafka Connect and Elasticsearch.
func WithoutPipeline(services []Service) []Service {
	return slices.DeleteFunc(slices.Clone(services), func(s Service) bool { return s.Pipeline })
}

// Listeners returns the ports that the service opens.
func (s Service) Listeners() []ports.Name {
	names := append([]ports.Name{s.HealthPort}, s.More...)
	if s.CallPort != "" {
		names = append([]ports.Name{s.CallPort}, names...)
	}
	return names
}
