package app_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/freeport"
	"github.com/labplatform/labplatform/pkg/testkit/servicetest"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	"github.com/labplatform/labplatform/services/callout/internal/app"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
)

func start(t *testing.T) (*servicetest.Running, calloutv1.CalloutServiceClient) {
	t.Helper()
	r := servicetest.Start(t, servicetest.Service[app.Config]{
		Name: app.Service.Name, Prefix: app.Service.Prefix, Load: app.Service.Load, Migrate: app.Service.Migrate, Serve: app.Service.Serve,
		Settings: []string{"CALLOUT_TASKQUEUE_ADDR=127.0.0.1:" + strconv.Itoa(freeport.One(t))},
		Rows: append(storetest.World(), "INSERT INTO reportValues (labReportId_id, `index`, `order`, parameter_name, value) VALUES"+
			" (7001, 2, 2, 'Canary parameter', '7.13579')"),
	})
	return r, calloutv1.NewCalloutServiceClient(r.Conn)
}

var sessions = map[string]string{
	"user":         `{"session_type":"lab_user","lab_id":12,"lab_user_id":77,"username":"asha","full_name":"Asha R","department_ids":[4,5]}`,
	"support":      `{"session_type":"support","lab_id":12,"lab_user_id":1}`,
	"homeless":     `{"session_type":"support","lab_user_id":1}`,
	"other":        `{"session_type":"lab_user","lab_id":13,"lab_user_id":87,"department_ids":[5]}`,
	"organization": `{"session_type":"organization","lab_id":12,"org_id":45}`,
}

// operations maps each RPC to a call of it, with bill 400 and report 7001 of laboratory 12.
var operations = map[string]func(context.Context, calloutv1.CalloutServiceClient) error{
	"records": func(ctx context.Context, c calloutv1.CalloutServiceClient) error {
		_, err := c.ListCriticalRecords(ctx, &calloutv1.ListCriticalRecordsRequest{BillId: 400})
		return err
	},
	"logs": func(ctx context.Context, c calloutv1.CalloutServiceClient) error {
		_, err := c.ListCalloutLogs(ctx, &calloutv1.ListCalloutLogsRequest{ReportIds: "7001"})
		return err
	},
	"audit": func(ctx context.Context, c calloutv1.CalloutServiceClient) error {
		_, err := c.ListCallouts(ctx, &calloutv1.ListCalloutsRequest{LabReportIds: []int64{7001}})
		return err
	},
	"open": func(ctx context.Context, c calloutv1.CalloutServiceClient) error {
		_, err := c.ListOpenCallouts(ctx, &calloutv1.ListOpenCalloutsRequest{})
		return err
	},
	"watch": func(ctx context.Context, c calloutv1.CalloutServiceClient) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := c.WatchCallouts(ctx, &calloutv1.WatchCalloutsRequest{})
		if err != nil {
			return err
		}
		event, err := stream.Recv()
		if err == nil && event.GetEvent() == "" { // the server accepted the stream
			event, err = stream.Recv()
		}
		if err == nil && event.GetEvent() != "worklist" {
			err = fmt.Errorf("the first event is %s", event.GetEvent())
		}
		return err
	},
	"summary": func(ctx context.Context, c calloutv1.CalloutServiceClient) error {
		_, err := c.GetCalloutSummary(ctx, &calloutv1.GetCalloutSummaryRequest{})
		return err
	},
	"draft": func(ctx context.Context, c calloutv1.CalloutServiceClient) error {
		comment := "canary comment"
		_, err := c.SaveCallout(ctx, &calloutv1.SaveCalloutRequest{BillId: 400, IsDraft: true, LabReportIds: []int64{7001},
			Recipients: []string{"Canary recipient"}, CriticalCalloutComment: &comment})
		return err
	},
	"evaluate bill": func(ctx context.Context, c calloutv1.CalloutServiceClient) error {
		_, err := c.EvaluateBill(ctx, &calloutv1.EvaluateBillRequest{BillId: 400, LabId: 12})
		return err
	},
	"evaluate reports": func(ctx context.Context, c calloutv1.CalloutServiceClient) error {
		_, err := c.EvaluateReports(ctx, &calloutv1.EvaluateReportsRequest{ReportIds: []int64{7001}, LabId: 12})
		return err
	},
}

const (
	ok              = codes.OK
	forbidden       = codes.PermissionDenied
	invalid         = codes.InvalidArgument
	absent          = codes.NotFound
	unauthenticated = codes.Unauthenticated
)

// access returns, for each operation and status code, the callers that get this code.
func access() map[string]map[codes.Code]string {
	const outside = "service/core, service/rerun, service/callout, service/gateway, service/notifications, organization"
	list := map[codes.Code]string{ok: "user, support, other", forbidden: outside, invalid: "homeless"}
	one := map[codes.Code]string{ok: "user, support", absent: "other", forbidden: outside, invalid: "homeless"}
	evaluate := func(allowed, others string) map[codes.Code]string {
		return map[codes.Code]string{ok: allowed, forbidden: others +
			", service/gateway, service/notifications, organization, user, support, homeless, other"}
	}
	table := map[string]map[codes.Code]string{
		"evaluate bill":    evaluate("service/core, service/callout", "service/rerun"),
		"evaluate reports": evaluate("service/core, service/rerun", "service/callout"),
		"records":          one, "draft": one,
		"logs": list, "audit": list, "open": list, "watch": list, "summary": list,
	}
	for _, callers := range table {
		callers[unauthenticated] = "no one"
	}
	return table
}

// TestAccessAndPatientData calls every operation as every kind of caller. It checks the status codes, and that logs,
// traces and metrics contain no patient data.
func TestAccessAndPatientData(t *testing.T) {
	t.Parallel()
	r, client := start(t)
	if err := operations["evaluate reports"](r.As("core"), client); err != nil {
		t.Fatal(err)
	}
	calls, allowed := map[string]servicetest.Operation{}, access()
	for name, call := range operations {
		calls[name] = servicetest.Operation{
			Call: func(ctx context.Context) error { return call(ctx, client) }, Callers: allowed[name],
		}
	}
	callers := map[string]context.Context{"no one": t.Context()}
	for name, document := range sessions {
		callers[name] = r.Session(name, document)
	}
	for _, name := range []string{"core", "rerun", "callout", "gateway", "notifications"} {
		callers["service/"+name] = r.As(name)
	}
	servicetest.Access(t, callers, calls, "Canary")
	// The server ends a stream shortly after the client has cancelled it.
	await.True(t, "the end of all event streams", func() bool { return strings.Contains(r.Get("/metrics"), "callout_event_streams 0") })
	metrics := r.Get("/metrics")
	for _, series := range []string{
		`callout_operation_seconds_count{operation="records"}`, `callout_saved_total{kind="completed"} 0`, `callout_reaped_total{what="overdue"} 0`,
		"callout_escalated_total 0", "callout_reports_critical_total 1", "callout_suppressed_total 0", "callout_swept_total",
		`outbox_waiting_rows{kind="notifications.notify"}`, `outbox_waiting_rows{kind="taskqueue.wake"}`,
	} {
		if !strings.Contains(metrics, series) {
			t.Errorf("the metrics have no %s, want it", series)
		}
	}
	r.KeepsSecret("7.13579", "Canary", "canary", "Asha")
}

func TestInvalidSettingsAreAllNamed(t *testing.T) {
	t.Parallel()
	_, err := app.Service.Load([]string{
		"CALLOUT_SERVICE_TOKEN_SECRET=a-service-token-secret-of-32-bytes", "CALLOUT_ESCALATE_AFTER=1ms", "CALLOUT_ESCALATE_MOST=0", "WEBHOOK_URL=gateway",
		"CALLOUT_TASKQUEUE_ADDR=", "CALLOUT_REAP_INTERVAL=2m", "CALLOUT_SWEEP_LOOKBACK=1m",
	})
	if err == nil {
		t.Fatal("accepted")
	}
	named := []string{"CALLOUT_ESCALATE_AFTER", "CALLOUT_ESCALATE_MOST", "WEBHOOK_URL", "REAP_INTERVAL", "SWEEP_LOOKBACK"}
	if i := slices.IndexFunc(named, func(s string) bool { return !strings.Contains(err.Error(), s) }); i >= 0 {
		t.Errorf("%s is not named: %v", named[i], err)
	}
}
