// Package ports owns the one table of the stack's TCP ports: where each listener is by default, and at which
// offset when LAB_PORT_BASE moves the whole stack.
package ports

import (
	"fmt"
	"net"
	"slices"
	"strconv"
)

// Name identifies one listener of the stack.
type Name string

// The listeners.
const (
	Gateway                Name = "gateway"
	GatewayInternal        Name = "gateway_internal"
	GatewayAdmin           Name = "gateway_admin"
	SearchHTTP             Name = "search_http"
	SearchGRPC             Name = "search_grpc"
	CDCHTTP                Name = "cdc_http"
	CDCGRPC                Name = "cdc_grpc"
	ExternalEditGRPC       Name = "externaledit_grpc"
	ExternalEditAdmin      Name = "externaledit_admin"
	RerunGRPC              Name = "rerun_grpc"
	RerunAdmin             Name = "rerun_admin"
	TaskqueueGRPC          Name = "taskqueue_grpc"
	TaskqueueAdmin         Name = "taskqueue_admin"
	CellCounterGRPC        Name = "cellcounter_grpc"
	CellCounterAdmin       Name = "cellcounter_admin"
	CalloutGRPC            Name = "callout_grpc"
	CalloutAdmin           Name = "callout_admin"
	BillSplitGRPC          Name = "billsplit_grpc"
	BillSplitAdmin         Name = "billsplit_admin"
	NotificationsGRPC      Name = "notifications_grpc"
	NotificationsAdmin     Name = "notifications_admin"
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
)

// Entry is one row of the table.
type Entry struct {
	Name       Name
	Documented int // without LAB_PORT_BASE
	Offset     int // added to LAB_PORT_BASE; below 100
}

// Table lists every listener; the README shows the same rows.
func Table() []Entry {
	return []Entry{
		{Gateway, 8090, 0}, {GatewayInternal, 8091, 1}, {GatewayAdmin, 8092, 2},
		{SearchGRPC, 9001, 11}, {SearchHTTP, 8000, 21},
		{ExternalEditGRPC, 9002, 12}, {ExternalEditAdmin, 8002, 22},
		{RerunGRPC, 9003, 13}, {RerunAdmin, 8003, 23},
		{TaskqueueGRPC, 9004, 14}, {TaskqueueAdmin, 8004, 24},
		{CellCounterGRPC, 9005, 15}, {CellCounterAdmin, 8005, 25},
		{CalloutGRPC, 9006, 16}, {CalloutAdmin, 8006, 26},
		{BillSplitGRPC, 9007, 17}, {BillSplitAdmin, 8007, 27},
		{NotificationsGRPC, 9008, 18}, {NotificationsAdmin, 8008, 28},
		{CDCGRPC, 9011, 19}, {CDCHTTP, 8080, 29},
		{MySQL, 13306, 30}, {Redis, 7001, 31}, {Mongo, 27018, 32},
		{Kafka, 19092, 33}, {KafkaController, 19093, 34}, {Connector, 8083, 35},
		{Elasticsearch, 9210, 36}, {ElasticsearchTransport, 9310, 37},
		{TraceCollector, 4317, 38}, {TraceViewer, 16686, 39},
	}
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
