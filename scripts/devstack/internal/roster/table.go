package roster

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/labplatform/labplatform/scripts/devstack/internal/ports"
)

// Service is one entry of the table.
type Service struct {
	Name     string     // of the binary, of the log, and in endpoints.json
	Package  string     // its main package, from the root of the repository
	Prefix   string     // of its environment variables, without the underscore
	GRPC     ports.Name // "" when it serves none
	Admin    ports.Name // health
	PortVar  string     // the variable of Admin's port without the prefix; "" is ADMIN_PORT
	More     []ports.Name
	Ready    string   // path on Admin that answers 200 when it is ready; "" is /health/ready
	Migrates bool     // has the verb migrate
	Edge     bool     // has no store and verifies no user's credential itself
	Internal bool     // has no REST paths: the gateway does not know it
	Pipeline bool     // runs only together with Kafka, Kafka Connect and Elasticsearch
	Callees  []string // services that it calls; it gets the addresses of those that the stack starts

	// Env adds what only this service gets; fixed values win over the caller's environment, defaults do not. It may be
	// nil.
	Env func(Stack) (fixed, defaults Env)
}

// Env is a set of environment variables.
type Env map[string]string

// Table lists the services in the order in which they are reported. An entry counts from the day on which its package
// is in the checkout; see Built.
func Table() []Service {
	return []Service{
		{Name: "gateway", Package: "./gateway/cmd/gateway", Prefix: "GATEWAY", Edge: true, Admin: ports.GatewayAdmin,
			More: []ports.Name{ports.Gateway, ports.GatewayInternal}, Env: gatewayEnv},
		{Name: "billsplit", Package: "./services/billsplit/cmd/billsplit", Prefix: "BILL_SPLIT", GRPC: ports.BillSplitGRPC,
			Admin: ports.BillSplitAdmin, Migrates: true, Callees: []string{"cdc"}},
		{Name: "callout", Package: "./services/callout/cmd/callout", Prefix: "CALLOUT", GRPC: ports.CalloutGRPC,
			Admin: ports.CalloutAdmin, Migrates: true, Callees: []string{"taskqueue", "notifications"}, Env: calloutEnv},
		{
			Name:     "cdc",
			Package:  "./services/cdc/cmd/cdc",
			Prefix:   "CDC",
			GRPC:     ports.CDCGRPC,
			Admin:    ports.CDCHTTP,
			Migrates: true,
			Pipeline: true,
			Internal: true,
			Env:      cdcEnv,
		},
		{
			Name:     "cellcounter",
			Package:  "./services/cellcounter/cmd/cellcounter",
			Prefix:   "CELL_COUNTER",
			GRPC:     ports.CellCounterGRPC,
			Admin:    ports.CellCounterAdmin,
			Migrates: true,
		},
		{
			Name:     "externaledit",
			Package:  "./services/externaledit/cmd/externaledit",
			Prefix:   "EXTERNAL_EDIT",
			GRPC:     ports.ExternalEditGRPC,
			Admin:    ports.ExternalEditAdmin,
			Migrates: true,
			Env:      externalEditEnv,
		},
		{
			Name:     "notifications",
			Package:  "./services/notifications/cmd/notifications",
			Prefix:   "NOTIFICATIONS",
			GRPC:     ports.NotificationsGRPC,
			Admin:    ports.NotificationsAdmin,
			Migrates: true,
			Callees:  []string{"taskqueue"},
			Env:      notificationsEnv,
		},
		{
			Name:     "rerun",
			Package:  "./services/rerun/cmd/rerun",
			Prefix:   "RERUN",
			GRPC:     ports.RerunGRPC,
			Admin:    ports.RerunAdmin,
			Migrates: true,
			Callees:  []string{"taskqueue", "callout", "cdc", "externaledit"},
			Env:      rerunEnv,
		},
		{
			Name:     "search",
			Package:  "./services/search/cmd/search",
			Prefix:   "SEARCH",
			GRPC:     ports.SearchGRPC,
			Admin:    ports.SearchHTTP,
			PortVar:  "PORT",
			Pipeline: true,
			Env:      searchEnv,
		},
		{Name: "taskqueue", Package: "./services/taskqueue/cmd/taskqueue", Prefix: "TASKQUEUE", GRPC: ports.TaskqueueGRPC,
			Admin: ports.TaskqueueAdmin, Migrates: true, Env: taskqueueEnv},
	}
}

// Built returns the services whose main package is in the repository at root.
func Built(root string, services []Service) []Service {
	return slices.DeleteFunc(slices.Clone(services), func(s Service) bool {
		info, err := os.Stat(filepath.Join(root, filepath.FromSlash(s.Package)))
		return err != nil || !info.IsDir()
	})
}

// WithoutPipeline returns those that run without Kafka, Kafka Connect and Elasticsearch.
func WithoutPipeline(services []Service) []Service {
	return slices.DeleteFunc(slices.Clone(services), func(s Service) bool { return s.Pipeline })
}

// ReadyPath is the path on Admin that answers 200 when the service is ready.
func (s Service) ReadyPath() string {
	if s.Ready != "" {
		return s.Ready
	}
	return "/health/ready"
}

// portVar is the variable of Admin's port without the prefix.
func (s Service) portVar() string {
	if s.PortVar != "" {
		return s.PortVar
	}
	return "ADMIN_PORT"
}

// Listeners returns the ports that the service opens.
func (s Service) Listeners() []ports.Name {
	var names []ports.Name
	for _, name := range append([]ports.Name{s.GRPC, s.Admin}, s.More...) {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}
