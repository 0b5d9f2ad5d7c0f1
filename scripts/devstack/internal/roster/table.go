package roster

import (
	"slices"

	"github.com/labplatform/labplatform/scripts/devstack/internal/ports"
	"github.com/labplatform/labplatform/services"
)

// Service is a deployable with the listeners and the environment that it gets in a stack.
type Service struct {
	services.Service

	Package    string       // path of the main package below the repository
	CallPort   ports.Name   // gRPC listener; "" for a service without one
	HealthPort ports.Name   // listener of health and metrics
	More       []ports.Name // other listeners

	// Env returns the variables that only this service gets. fixed values override the caller's environment, defaults do
	// not. May be nil.
	Env func(Stack) (fixed, defaults Env)
}

// Env is a set of environment variables, values by name.
type Env map[string]string

// particular maps a service to its function Env.
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

// Table returns all services, in the order in which they are reported.
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

// Listeners returns all listeners that the service opens.
func (s Service) Listeners() []ports.Name {
	names := append([]ports.Name{s.HealthPort}, s.More...)
	if s.CallPort != "" {
		names = append([]ports.Name{s.CallPort}, names...)
	}
	return names
}
