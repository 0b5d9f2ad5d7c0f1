// Package areas lists the services behind the gateway with their paths, error bodies and deadlines. It also implements
// paths that are not in their contracts: the upload form, event streams and the API reference.
package areas

import (
	"context"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/httpserver"
	billsplitv1 "github.com/labplatform/labplatform/proto/gen/lab/billsplit/v1"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
)

// List returns the areas in the order of the API document.
func List() []*edge.Area { return areas }

// areas are in the order of the API document.
var areas = []*edge.Area{
	edge.UserSearch(),
	{
		Name:     "externaledit",
		Title:    "External editing",
		Prefixes: []string{"/api-v3/report/external-edit"},
		Shape:    httpserver.Envelope,
		Deadline: edge.DefaultDeadline,
		Uploads:  []edge.Upload{uploadFiles},
		Streams:  []edge.Stream{editEvents},
		Register: registerExternalEdit,
	},
	{
		Name:     "rerun",
		Title:    "Sample rerun",
		Prefixes: []string{"/api-v3/sample-rerun"},
		Shape:    httpserver.Envelope,
		Deadline: edge.DefaultDeadline,
		Register: func(ctx context.Context, mux *edge.Mux, c grpc.ClientConnInterface) error {
			return rerunv1.RegisterRerunServiceHandlerClient(ctx, mux.ServeMux, rerunv1.NewRerunServiceClient(c))
		},
	},
	{
		Name:  "taskqueue",
		Title: "The task queue",
		Prefixes: []string{
			"/queue",
			"/schedule",
			"/jobInfo",
			"/cancelJob",
			"/rescheduleJob",
			"/retryTask",
			"/mapping",
			"/update_consent",
		},
		Shape:    taskQueueShape,
		Deadline: edge.DefaultDeadline,
		Register: func(ctx context.Context, mux *edge.Mux, c grpc.ClientConnInterface) error {
			return taskqueuev1.RegisterTaskQueueServiceHandlerClient(ctx, mux.ServeMux, taskqueuev1.NewTaskQueueServiceClient(c))
		},
	},
	{
		Name:     "cellcounter",
		Title:    "Cell counter mappings",
		Prefixes: []string{"/api-v3/cell-counter-mappings"},
		Shape:    cellCounterShape,
		Deadline: edge.DefaultDeadline,
		Register: func(ctx context.Context, mux *edge.Mux, c grpc.ClientConnInterface) error {
			return cellcounterv1.RegisterCellCounterServiceHandlerClient(
				ctx,
				mux.ServeMux,
				cellcounterv1.NewCellCounterServiceClient(c),
			)
		},
	},
	{
		Name:  "callout",
		Title: "Critical callout",
		Prefixes: []string{
			"/report",
			"/operation/critical-callout",
			"/api-v3/report",
			"/api-v3/operation/critical-callout",
		},
		InternalSuffix: "/critical/evaluate",
		Streams: []edge.Stream{
			liveCallouts("/operation/critical-callout/live"),
			liveCallouts("/api-v3/operation/critical-callout/live"),
		},
		Shape:    httpserver.Envelope,
		Deadline: edge.DefaultDeadline,
		Register: func(ctx context.Context, mux *edge.Mux, c grpc.ClientConnInterface) error {
			return calloutv1.RegisterCalloutServiceHandlerClient(ctx, mux.ServeMux, calloutv1.NewCalloutServiceClient(c))
		},
	},
	{
		Name:     "billsplit",
		Title:    "Bill split",
		Prefixes: []string{"/api-v3/finance/bill/split"},
		Shape:    billSplitShape,
		Deadline: edge.DefaultDeadline,
		Register: func(ctx context.Context, mux *edge.Mux, c grpc.ClientConnInterface) error {
			return billsplitv1.RegisterBillSplitServiceHandlerClient(ctx, mux.ServeMux, billsplitv1.NewBillSplitServiceClient(c))
		},
	},
	{
		Name:             "notifications",
		Title:            "Notifications",
		Prefixes:         []string{"/api-v3/notifications"},
		Shape:            httpserver.Envelope,
		Deadline:         edge.DefaultDeadline,
		MaxResponseBytes: 32 << 20, // enough for a year of one user's activities
		Streams:          []edge.Stream{liveNotifications},
		Register:         registerNotifications,
	},
}
