package edge

import (
	"context"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/rest"
	billsplitv1 "github.com/labplatform/labplatform/proto/gen/lab/billsplit/v1"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	searchv1 "github.com/labplatform/labplatform/proto/gen/lab/search/v1"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
)

const (
	defaultDeadline = 10 * time.Second
	searchDeadline  = 5 * time.Second
	uploadDeadline  = 120 * time.Second
)

// area is one service behind the edge: which paths it answers, in which error body, and within which time.
type area struct {
	name     string // the service, also the audience of tokens
	title    string // for people
	prefixes []string
	shape    rest.Shape
	deadline time.Duration
	register func(context.Context, *runtime.ServeMux, grpc.ClientConnInterface) error
}

// areas in the order of the interface document.
var areas = []*area{
	{
		name: "search", title: "User search", prefixes: []string{"/api/v1/users"}, shape: rest.Envelope, deadline: searchDeadline,
		register: func(ctx context.Context, mux *runtime.ServeMux, c grpc.ClientConnInterface) error {
			return searchv1.RegisterSearchServiceHandlerClient(ctx, mux, searchv1.NewSearchServiceClient(c))
		},
	},
	{
		name: "externaledit", title: "External editing", prefixes: []string{"/api-v3/report/external-edit"}, shape: rest.Envelope, deadline: defaultDeadline,
		register: func(ctx context.Context, mux *runtime.ServeMux, c grpc.ClientConnInterface) error {
			return externaleditv1.RegisterExternalEditServiceHandlerClient(ctx, mux, externaleditv1.NewExternalEditServiceClient(c))
		},
	},
	{
		name: "rerun", title: "Sample rerun", prefixes: []string{"/api-v3/sample-rerun"}, shape: rest.Envelope, deadline: defaultDeadline,
		register: func(ctx context.Context, mux *runtime.ServeMux, c grpc.ClientConnInterface) error {
			return rerunv1.RegisterRerunServiceHandlerClient(ctx, mux, rerunv1.NewRerunServiceClient(c))
		},
	},
	{
		name: "taskqueue", title: "The task queue",
		prefixes: []string{"/queue", "/schedule", "/jobInfo", "/cancelJob", "/rescheduleJob", "/retryTask", "/mapping", "/update_consent"},
		shape:    rest.TaskQueue, deadline: defaultDeadline,
		register: func(ctx context.Context, mux *runtime.ServeMux, c grpc.ClientConnInterface) error {
			return taskqueuev1.RegisterTaskQueueServiceHandlerClient(ctx, mux, taskqueuev1.NewTaskQueueServiceClient(c))
		},
	},
	{
		name: "cellcounter", title: "Cell counter mappings", prefixes: []string{"/api-v3/cell-counter-mappings"}, shape: rest.CellCounter, deadline: defaultDeadline,
		register: func(ctx context.Context, mux *runtime.ServeMux, c grpc.ClientConnInterface) error {
			return cellcounterv1.RegisterCellCounterServiceHandlerClient(ctx, mux, cellcounterv1.NewCellCounterServiceClient(c))
		},
	},
	{
		name: "callout", title: "Critical callout",
		prefixes: []string{"/report", "/operation/critical-callout", "/api-v3/report", "/api-v3/operation/critical-callout"},
		shape:    rest.Envelope, deadline: defaultDeadline,
		register: func(ctx context.Context, mux *runtime.ServeMux, c grpc.ClientConnInterface) error {
			return calloutv1.RegisterCalloutServiceHandlerClient(ctx, mux, calloutv1.NewCalloutServiceClient(c))
		},
	},
	{
		name: "billsplit", title: "Bill split", prefixes: []string{"/api-v3/finance/bill/split"}, shape: rest.BillSplit, deadline: defaultDeadline,
		register: func(ctx context.Context, mux *runtime.ServeMux, c grpc.ClientConnInterface) error {
			return billsplitv1.RegisterBillSplitServiceHandlerClient(ctx, mux, billsplitv1.NewBillSplitServiceClient(c))
		},
	},
	{
		name: "notifications", title: "Notifications", prefixes: []string{"/api-v3/notifications"}, shape: rest.Envelope, deadline: defaultDeadline,
		register: func(ctx context.Context, mux *runtime.ServeMux, c grpc.ClientConnInterface) error {
			return notificationsv1.RegisterNotificationsServiceHandlerClient(ctx, mux, notificationsv1.NewNotificationsServiceClient(c))
		},
	},
}

// nowhere stands for paths of no area.
var nowhere = &area{shape: rest.Envelope, deadline: defaultDeadline}

// areaOf returns the area with the longest prefix of whole segments, nowhere if there is none.
func areaOf(path string) *area {
	best, length := nowhere, 0
	for _, a := range areas {
		for _, prefix := range a.prefixes {
			below, ok := strings.CutPrefix(path, prefix)
			if ok && (below == "" || below[0] == '/') && len(prefix) > length {
				best, length = a, len(prefix)
			}
		}
	}
	return best
}

// AreaNames lists the services behind the edge.
func AreaNames() []string {
	names := make([]string, len(areas))
	for i, a := range areas {
		names[i] = a.name
	}
	return names
}
