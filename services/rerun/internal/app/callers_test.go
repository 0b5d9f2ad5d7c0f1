package app_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/rpcerr"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

func rawJSON(s string) *typev1.RawJSON { return &typev1.RawJSON{Json: []byte(s)} }

// operation is one of the six operations, valid for report 7001 with the flag that prepare sets.
type operation struct {
	request bool // needs an open request for parameter 1
	call    func(ctx context.Context, c rerunv1.RerunServiceClient, labID *int64) error
}

func operations() map[string]operation {
	return map[string]operation{
		"list": {call: func(ctx context.Context, c rerunv1.RerunServiceClient, labID *int64) error {
			_, err := c.ListReruns(ctx, &rerunv1.ListRerunsRequest{LabReportId: 7001, LabId: labID})
			return err
		}},
		"request": {call: func(ctx context.Context, c rerunv1.RerunServiceClient, labID *int64) error {
			_, err := c.RequestRerun(ctx, &rerunv1.RequestRerunRequest{ReportId: 7001, LabId: labID,
				Type: proto.String("manual"), RequestedParameters: rawJSON("[1]")})
			return err
		}},
		"new": {request: true, call: func(ctx context.Context, c rerunv1.RerunServiceClient,
			labID *int64) error {
			_, err := c.AddValues(ctx, &rerunv1.AddValuesRequest{ReportId: 7001, LabId: labID, SampleId: proto.String("S-1"),
				RerunNumber: rawJSON("1"),
				DeviceData:  []*rerunv1.DeviceValue{{Index: proto.Int32(1), Value: rawJSON(`"13.5"`)}}})
			return err
		}},
		"auto": {call: func(ctx context.Context, c rerunv1.RerunServiceClient, labID *int64) error {
			_, err := c.EvaluateAutoRerun(ctx, &rerunv1.EvaluateAutoRerunRequest{LabReportId: 7001, LabId: labID,
				DeviceData: []*rerunv1.DeviceValue{{Index: proto.Int32(1), Value: rawJSON(`"13.5"`)}}})
			return err
		}},
		"confirm": {request: true, call: func(ctx context.Context, c rerunv1.RerunServiceClient,
			labID *int64) error {
			_, err := c.ConfirmRerun(ctx, &rerunv1.ConfirmRerunRequest{LabReportId: 7001, LabId: labID,
				RerunConfirmedData: []*rerunv1.ConfirmedValue{{Index: proto.Int32(1), Value: proto.String("13.5")}}})
			return err
		}},
		"abort": {request: true, call: func(ctx context.Context, c rerunv1.RerunServiceClient, labID *int64) error {
			_, err := c.AbortRerun(ctx, &rerunv1.AbortRerunRequest{LabReportId: 7001, LabId: labID})
			return err
		}},
	}
}

// TestWhoMayCallEachOperation calls every operation as every caller of one running service. A rejected call changes
// nothing.
func TestWhoMayCallEachOperation(t *testing.T) {
	t.Parallel()
	f := start(t)
	mine, theirs := proto.Int64(12), proto.Int64(13)
	notFound, forbidden, invalid := codes.NotFound, codes.PermissionDenied, codes.InvalidArgument
	callers := []struct {
		name  string
		ctx   context.Context
		labID *int64
		want  codes.Code
	}{
		{name: "no login", ctx: t.Context(), want: codes.Unauthenticated},
		{name: "a forged session", ctx: metadata.AppendToOutgoingContext(t.Context(), "cookie", "sessionid=none"),
			want: codes.Unauthenticated},
		{name: "a doctor", ctx: f.sessionOf("doctor", "doctor", 12), want: forbidden},
		{name: "an organisation", ctx: f.sessionOf("organization", "organization", 12), want: forbidden},
		{name: "a collection centre", ctx: f.sessionOf("cc", "collection_center", 12), want: forbidden},
		{name: "another laboratory", ctx: f.session("s13", 13), want: notFound},
		{name: "another laboratory that names this one", ctx: f.session("s13", 13), labID: mine, want: notFound},
		{name: "this laboratory that names another", ctx: f.session("s12", 12), labID: theirs, want: notFound},
		{name: "a service for another laboratory", ctx: f.internal(), labID: theirs, want: notFound},
		{name: "a service without a laboratory", ctx: f.internal(), want: invalid},
		{name: "support of the laboratory", ctx: f.sessionOf("support", "support", 12), want: codes.OK},
		{name: "a service that no contract lists", ctx: f.As("search"), labID: mine, want: forbidden},
		{name: "a service", ctx: f.internal(), labID: mine, want: codes.OK},
		{name: "a lab user", ctx: f.session("s12", 12), want: codes.OK},
		{name: "a lab user who names the laboratory", ctx: f.session("s12", 12), labID: mine, want: codes.OK},
	}
	for name, operation := range operations() {
		for _, caller := range callers {
			f.fresh(operation)
			before := f.fingerprint()
			err := operation.call(caller.ctx, f.client, caller.labID)
			if status.Code(err) != caller.want {
				t.Errorf("%s as %s: %v, want %v", name, caller.name, err, caller.want)
			}
			if caller.want != codes.OK && f.fingerprint() != before {
				t.Errorf("%s as %s was refused and changed something", name, caller.name)
			}
		}
	}
}

// fresh sets report 7001 to the flag that the operation needs.
func (f *fixture) fresh(o operation) {
	f.t.Helper()
	asha := f.session("s12", 12)
	_, err := f.client.AbortRerun(asha, &rerunv1.AbortRerunRequest{LabReportId: 7001})
	if err != nil && status.Code(err) != rpcerr.Code(apperr.Conflict) {
		f.t.Fatal(err)
	}
	if !o.request {
		return
	}
	if err := operations()["request"].call(asha, f.client, nil); err != nil {
		f.t.Fatal(err)
	}
}

// fingerprint returns what the database and GET contain about report 7001.
func (f *fixture) fingerprint() string {
	f.t.Helper()
	list, err := f.client.ListReruns(f.session("s12", 12), &rerunv1.ListRerunsRequest{LabReportId: 7001})
	if err != nil {
		f.t.Fatal(err)
	}
	var entries, values int
	if err := f.DB.QueryRowContext(f.t.Context(),
		"SELECT (SELECT COUNT(*) FROM ActivityLog), (SELECT COUNT(*) FROM reportValues)").Scan(&entries,
		&values); err != nil {
		f.t.Fatal(err)
	}
	return fmt.Sprint(list.GetSampleRedrawFlag(), len(list.GetReruns()), len(list.GetPendingRequests()), entries, values)
}

func (f *fixture) sessionOf(id, kind string, labID int) context.Context {
	return f.Session(id, fmt.Sprintf(`{"session_type":%q,"lab_id":%d,"lab_user_id":78,"doctor_id":302,"org_id":45,"cc_id":9}`, kind, labID))
}

// TestWithoutACalloutConfirmedReportsWaitAndAutomaticRerunsGoOn runs without a callout service: messages about
// confirmed reports wait, and automatic reruns work.
func TestWithoutACalloutConfirmedReportsWaitAndAutomaticRerunsGoOn(t *testing.T) {
	t.Parallel()
	f := start(t, "RERUN_CALLOUT_ADDR=127.0.0.1:1")
	asha := f.session("s12", 12)
	storetest.Exec(t, f.DB, `UPDATE ReportFormat SET meta = '{"auto_rerun_allowed":true,`+
		`"auto_rerun_parameter_condition":"custom","custom":{"low":12}}' WHERE id = 1`)
	for range 3 {
		f.fresh(operation{request: true})
		if err := operations()["confirm"].call(asha, f.client, nil); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := f.client.EvaluateAutoRerun(asha, &rerunv1.EvaluateAutoRerunRequest{LabReportId: 7001,
		DeviceData: []*rerunv1.DeviceValue{{Index: proto.Int32(1), Value: rawJSON(`"9.1"`)}}})
	if err != nil || len(answer.GetQualifyingParameters()) != 1 {
		t.Fatalf("got %v %v, want 1", answer, err)
	}
	await.True(t, "the task of the automatic rerun, past the waiting reports",
		func() bool { return f.queue.first() != nil })
	await.Nil(t, "three reports waiting for the callout", func() error {
		metrics := f.Get("/metrics")
		for _, line := range []string{
			`outbox_waiting_rows{kind="callout.evaluate"} 3`, `outbox_parked_rows{kind="callout.evaluate"} 0`,
			`outbox_receiver_away{kind="callout.evaluate"} 1`, `outbox_receiver_away{kind="taskqueue.enqueue"} 0`,
		} {
			if !strings.Contains(metrics, line) {
				return fmt.Errorf("metric %s is missing", line)
			}
		}
		for _, line := range []string{`rerun_closed_total{how="confirmed"} 3`, `rerun_swept_total{outcome="completed"} 0`,
			`rerun_values_stored_total{trigger="instrument"} 0`} {
			if !strings.Contains(metrics, line) {
				t.Fatalf("metric %s is missing", line)
			}
		}
		return nil
	})
}
