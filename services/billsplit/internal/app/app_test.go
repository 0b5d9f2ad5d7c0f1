package app_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/servicetest"
	billsplitv1 "github.com/labplatform/labplatform/proto/gen/lab/billsplit/v1"
	cdcv1 "github.com/labplatform/labplatform/proto/gen/lab/cdc/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/billsplit/internal/app"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/storetest"
)

const canary = "Quetzalcoatlus"

// capture is a fake of the change-capture service.
type capture struct {
	cdcv1.UnimplementedChangeCaptureServiceServer

	mu  sync.Mutex
	got []*cdcv1.SyncUsersRequest
}

func (c *capture) SyncUsers(_ context.Context, in *cdcv1.SyncUsersRequest) (*cdcv1.SyncUsersResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got = append(c.got, in)
	return &cdcv1.SyncUsersResponse{Synced: 1}, nil
}

func (c *capture) asked() []*cdcv1.SyncUsersRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.got
}

// fixture is a running service with the services that it calls.
type fixture struct {
	*servicetest.Running
	capture *capture
	client  billsplitv1.BillSplitServiceClient
}

func start(t *testing.T, settings ...string) *fixture {
	t.Helper()
	c := &capture{}
	address := servicetest.Stub(t, func(s grpc.ServiceRegistrar) { cdcv1.RegisterChangeCaptureServiceServer(s, c) })
	r := servicetest.Start(t, servicetest.Service[app.Config]{
		Name: app.Service.Name, Prefix: app.Service.Prefix, Load: app.Service.Load, Migrate: app.Service.Migrate, Serve: app.Service.Serve,
		Settings: append(settings, "BILL_SPLIT_CDC_ADDR="+address),
	})
	storetest.Insert(t, r.DB, storetest.Worked())
	return &fixture{r, c, billsplitv1.NewBillSplitServiceClient(r.Conn)}
}

// session returns a context with a session of a kind of login.
func (b *fixture) session(kind string, lab int) context.Context {
	return b.Session(fmt.Sprint(kind, lab),
		fmt.Sprintf(`{"session_type":%q,"lab_id":%d,"lab_user_id":77,"doctor_id":302,"org_id":45,"cc_id":9,"full_name":%q}`, kind, lab, "Asha "+canary))
}

func in(mode string, tests string) *billsplitv1.SplitBillRequest {
	return &billsplitv1.SplitBillRequest{
		BillId: storetest.Original, TestIds: &typev1.RawJSON{Json: []byte(tests)},
		IsValidate: proto.Bool(mode == "validate"), IsCalculate: proto.Bool(mode == "calculate"),
	}
}

func TestASplitFromSessionToSearch(t *testing.T) {
	t.Parallel()
	b := start(t)
	asha := metadata.AppendToOutgoingContext(b.session("lab_user", 12), "idempotency-key", "k1")
	var header metadata.MD
	out, err := b.client.SplitBill(asha, in("", "[103]"), grpc.Header(&header))
	if err != nil || out.GetStatus() != "success" || out.GetData().GetNewBill().GetTotalAmount() != 362.9 || len(header.Get("x-http-code")) != 0 {
		t.Fatalf("%v %v %v", out, err, header)
	}
	again, err := b.client.SplitBill(asha, in("", "[103]"))
	if err != nil || !proto.Equal(out, again) {
		t.Errorf("%v %v", again, err)
	}
	refused, err := b.client.SplitBill(b.session("lab_user", 12), in("", "[103]"), grpc.Header(&header))
	if err != nil || refused.GetStatus() != "failed" || header.Get("x-http-code")[0] != "400" {
		t.Errorf("%v %v %v", refused, err, header)
	}
	await.True(t, "the refresh of the patient", func() bool { return len(b.capture.asked()) == 1 })
	if got := b.capture.asked()[0]; got.GetLabId() != 12 || got.GetUserIds()[0] != storetest.Patient {
		t.Errorf("%v", got)
	}
	if _, err := b.client.MergeBill(b.session("lab_user", 12), &billsplitv1.MergeBillRequest{BillId: out.GetData().GetNewBill().GetId()}); err != nil {
		t.Error(err)
	}
	expectMetrics(t, b.Get("/metrics"), "billsplit_executed_total 1", "billsplit_tests_moved_total 3", "billsplit_replayed_total 1", "billsplit_refused_total 1", "billsplit_merged_total 1",
		`billsplit_failures_total{type="TO_SPLIT_TESTS_NOT_FOUND"} 1`, `billsplit_failures_total{type="RELATION_BLOCKED"} 0`,
		`billsplit_validated_total{status="failed"} 0`, `billsplit_seconds_count{mode="execute"} 3`, `billsplit_seconds_count{mode="validate"} 0`, `billsplit_seconds_count{mode="merge"} 1`, `billsplit_seconds_count{mode="family"} 0`,
		`aftercommit_failed_total{task="index"} 0`)
}

func expectMetrics(t *testing.T, metrics string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(metrics, line) {
			t.Errorf("metric %s is missing", line)
		}
	}
}

func TestWhoMayCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		access string
		codes  map[string]codes.Code
	}{
		"staff": {"session", map[string]codes.Code{"lab_user": codes.OK, "support": codes.OK, "doctor": codes.PermissionDenied,
			"organization": codes.PermissionDenied, "collection_center": codes.PermissionDenied}},
		"support": {"support", map[string]codes.Code{"lab_user": codes.PermissionDenied, "doctor": codes.PermissionDenied, "support": codes.OK}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, "BILL_SPLIT_ACCESS="+c.access)
			for kind, want := range c.codes {
				if _, err := b.client.SplitBill(b.session(kind, 12), in("validate", "[103]")); status.Code(err) != want {
					t.Errorf("%s: %v", kind, err)
				}
			}
			named := in("validate", "[103]")
			named.LabId = proto.Int64(12)
			for who, call := range map[string]struct {
				ctx  context.Context
				in   *billsplitv1.SplitBillRequest
				want codes.Code
			}{
				"no one":                            {t.Context(), in("validate", "[103]"), codes.Unauthenticated},
				"a service":                         {b.As("core"), named, codes.PermissionDenied},
				"support, naming another's":         {b.session("support", 13), named, codes.InvalidArgument},
				"a session without a laboratory":    {b.session("support", 0), in("validate", "[103]"), codes.InvalidArgument},
				"support of another laboratory too": {b.session("support", 13), in("validate", "[103]"), codes.OK}, // BILL_NOT_FOUND
			} {
				out, err := b.client.SplitBill(call.ctx, call.in)
				if status.Code(err) != call.want {
					t.Errorf("%s: %v", who, err)
				}
				if strings.Contains(who, "another laboratory too") && out.GetFailedValidation()[0].GetType() != "BILL_NOT_FOUND" {
					t.Errorf("%s: %v", who, out)
				}
			}
		})
	}
}

// TestNothingOfPeopleIsToldElsewhere writes a canary into every column that may contain personal data. Logs, metrics
// and errors must not contain it, after successful and failed calls.
func TestNothingOfPeopleIsToldElsewhere(t *testing.T) {
	t.Parallel()
	b := start(t)
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := b.DB.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("INSERT INTO userDetails (id, labId_id, fullName, contact) VALUES (?, 12, ?, ?)", storetest.Patient, canary, canary)
	exec("UPDATE billing SET orderNumber = ? WHERE id = ?", canary, storetest.Original)
	exec("INSERT INTO bill_attachment (lab_id, bill_id, category, file_path) VALUES (12, ?, 'smart_report', ?)", storetest.Original, canary)
	asha := b.session("lab_user", 12)
	var said []string
	call := func(mode, tests string) {
		out, err := b.client.SplitBill(asha, in(mode, tests))
		said = append(said, fmt.Sprint(out, err))
	}
	call("", `[103]`)
	call("", `["`+canary+`"]`)
	call("validate", `[`+canary+`]`)
	exec("UPDATE billing SET source = ? WHERE id = ?", canary, storetest.Original)
	call("calculate", `[101]`)
	exec("UPDATE billing SET source = 'Insurance' WHERE id = ?", storetest.Original)
	exec("DELETE FROM ActivityLog")
	exec("ALTER TABLE ActivityLog MODIFY labUserName VARCHAR(3) NOT NULL")
	call("", `[101]`)
	exec("DROP TABLE crm_kit")
	call("", `[101]`)
	exec("INSERT INTO billing (id, labId_id, labBillId, userDetailsId_id) VALUES (77, 12, 77, 1)")
	exec("ALTER TABLE billing MODIFY vat VARCHAR(20)")
	exec("UPDATE billing SET vat = ? WHERE id = 77", canary)
	out, err := b.client.GetFamily(asha, &billsplitv1.GetFamilyRequest{BillId: 77})
	said = append(said, fmt.Sprint(out, err))
	for i, text := range said {
		if strings.Contains(text, canary) {
			t.Errorf("answer %d tells it: %.2000s", i, text)
		}
	}
	b.KeepsSecret(canary)
	if len(said) != 7 || !strings.Contains(said[0], "success") || !strings.Contains(said[4], "Internal") || !strings.Contains(said[5], "Internal") {
		t.Errorf("%q", said)
	}
}
