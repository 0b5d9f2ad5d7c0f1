// Package ports owns the one table of the stack's TCP ports: where each listener is by default, and at which
// offset when LAB_PORT_BASE moves the whole stack.
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

// The listeners of the gateway and of the engines.
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

// GRPC is the listener of calls of the service called name.
func GRPC(name string) Name { return Name(name + "_grpc") }

// Admin is the listener of health and metrics of the deployable called name.
func Admin(name string) Name { return Name(name + "_admin") }

// Entry is one row of the table.
type Entry struct {
	Name       Name
	Documented int // without LAB_PORT_BASE
	Offset     int // added to LAB_PORT_BASE; below 100
}

// The offsets of a service's listeners are these and its slot.
const (
	grpcOffset  = 10
	adminOffset = 20
)

// Table lists every listener; the README shows the same rows.
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

// Plan answers which port a listener has in one stack.
type Plan struct{ base int }

// Parse reads LAB_PORT_BASE: "" means the documented ports.
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

// Port returns the port of name; an unknown name is 0.
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

// Addr returns "127.0.0.1:port" of name.
func (p Plan) Addr(name Name) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Port(name)))
}
