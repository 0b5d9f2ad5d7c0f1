// Package ports defines the TCP ports of the stack: the default port of each listener, and its offset when
// LAB_PORT_BASE moves the whole stack.
package ports

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/labplatform/labplatform/services"
)

// Name identifies one listener of the stack.
type Name string

// Listeners of the gateway, the engines and the trace viewer. Those of the services are GRPC and Admin.
const (
	Gateway                Name = "gateway"
	GatewayInternal        Name = "gateway_internal"
	MySQL                  Name = "mysql"
	Redis                  Name = "redis"
	Mongo                  Name = "mongo"
	Kafka                  Name = "kafka"
	KafkaController        Name = "kafka_controller"
	Connector              Name = "connector"
	Elasticsearch          Name = "elasticsearch"
	ElasticsearchTransport Name = "elasticsearch_transport"
	TraceCollector         Name = "trace_collector"
	TraceViewer            Name = "trace_viewer"
	ExternalEditFiles      Name = "externaledit_files"
)

// GRPC returns the name of the gRPC listener of a service.
func GRPC(name string) Name { return Name(name + "_grpc") }

// Admin returns the name of the listener for health and metrics of a service.
func Admin(name string) Name { return Name(name + "_admin") }

// Entry is the port of one listener.
type Entry struct {
	Name       Name
	Documented int // port without LAB_PORT_BASE
	Offset     int // added to LAB_PORT_BASE; below 100
}

// The offset of a service's listener is one of these plus the slot of the service.
const (
	grpcOffset  = 10
	adminOffset = 20
)

// Table lists every listener. The README repeats it.
func Table() []Entry {
	table := []Entry{{Gateway, 8090, 0}, {GatewayInternal, 8091, 1}}
	for _, s := range services.List() {
		if s.Name == services.Gateway {
			table = append(table, Entry{Admin(s.Name), s.Admin, 2})
			continue
		}
		table = append(table,
			Entry{GRPC(s.Name), s.GRPC, grpcOffset + s.Slot},
			Entry{Admin(s.Name), s.Admin, adminOffset + s.Slot})
	}
	return append(table,
		Entry{MySQL, 13306, 30}, Entry{Redis, 7001, 31}, Entry{Mongo, 27018, 32},
		Entry{Kafka, 19092, 33}, Entry{KafkaController, 19093, 34}, Entry{Connector, 8083, 35},
		Entry{Elasticsearch, 9210, 36}, Entry{ElasticsearchTransport, 9310, 37},
		Entry{TraceCollector, 4317, 38}, Entry{TraceViewer, 16686, 39},
		Entry{ExternalEditFiles, 8012, 40})
}

// Plan maps listeners to the ports of one stack.
type Plan struct{ base int }

// Parse parses the value of LAB_PORT_BASE. "" selects the documented ports.
func Parse(base string) (Plan, error) {
	if base == "" {
		return Plan{}, nil
	}
	number, err := strconv.Atoi(base)
	if err != nil || number < 1024 || number > 65435 {
		return Plan{}, fmt.Errorf(
			"LAB_PORT_BASE is %q: give a number from 1024 to 65435, or unset it for the documented ports",
			base,
		)
	}
	return Plan{base: number}, nil
}

// Port returns the port of a listener, or 0 for an unknown name.
func (p Plan) Port(name Name) int {
	table := Table()
	i := slices.IndexFunc(table, func(e Entry) bool { return e.Name == name })
	switch {
	case i < 0:
		return 0
	case p.base == 0:
		return table[i].Documented
	default:
		return p.base + table[i].Offset
	}
}

// Addr returns "127.0.0.1:port" of a listener.
func (p Plan) Addr(name Name) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Port(name)))
}
