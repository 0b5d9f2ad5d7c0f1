package app_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/labjson"
	"github.com/labplatform/labplatform/pkg/rpcerr"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/freeport"
	"github.com/labplatform/labplatform/pkg/testkit/mongotest"
	"github.com/labplatform/labplatform/pkg/testkit/servicetest"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/app"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

// queue is a fake task queue.
type queue struct {
	taskqueuev1.UnimplementedTaskQueueServiceServer

	mu  sync.Mutex
	got []*taskqueuev1.EnqueueRequest
}

func (q *queue) Enqueue(_ context.Context, in *taskqueuev1.EnqueueRequest) (*taskqueuev1.EnqueueResponse, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.got = append(q.got, in)
	return &taskqueuev1.EnqueueResponse{Code: 200, JobIds: []string{"j"}}, nil
}

func (q *queue) first() *taskqueuev1.EnqueueRequest {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.got) == 0 {
		return nil
	}
	return q.got[0]
}

// fixture is a running service with a task queue that only receives tasks.
type fixture struct {
	*servicetest.Running
	t      *testing.T
	queue  *queue
	client rerunv1.RerunServiceClient
}

func start(t *testing.T, settings ...string) *fixture {
	t.Helper()
	q := &queue{}
	address := servicetest.Stub(t, func(s grpc.ServiceRegistrar) { taskqueuev1.RegisterTaskQueueServiceServer(s, q) })
	r := servicetest.Start(t, servicetest.Service[app.Config]{
		Name: app.Service.Name, Prefix: app.Service.Prefix, Load: app.Service.Load, Migrate: app.Service.Migrate, Serve: app.Service.Serve,
		Settings: append(
			settings,
			"RERUN_MONGO_URI="+mongotest.URI(t),
			"RERUN_MONGO_DATABASE="+mongotest.Database(t).Name(),
			"RERUN_TASKQUEUE_ADDR="+address,
			"RERUN_OUTBOX_POLL_INTERVAL=50ms",
			"WEBHOOK_URL=http://gateway:8091",
		),
		Rows: storetest.Rows(),
	})
	return &fixture{r, t, q, rerunv1.NewRerunServiceClient(r.Conn)}
}

// session stores a web session of laboratory labID, and returns a context with it.
func (f *fixture) session(id string, labID int) context.Context {
	return f.Session(id, fmt.Sprintf(`{"session_type":"lab_user","lab_id":%d,"lab_user_id":77,"full_name":"Asha R"}`, labID))
}

// internal returns the context of a call by the platform's core through the gateway's internal listener.
func (f *fixture) internal() context.Context {
	return metadata.AppendToOutgoingContext(f.As("core"), "x-is-internal-request", "True")
}

func TestAnAutomaticRerunFromInstrumentToOpenRequest(t *testing.T) {
	t.Parallel()
	f := start(t)
	storetest.Exec(t, f.DB, `UPDATE ReportFormat SET meta = '{"auto_rerun_allowed":true,`+
		`"auto_rerun_parameter_condition":"abnormal"}' WHERE id IN (1, 3)`,
		"INSERT INTO ReportFormatRange (reportFormatId_id, gender, lowerBound, upperBound) VALUES (1, 'F', 12, 16), (3,"+
			" 'A', 4000, 11000)")
	asha := f.session("s12", 12)
	answer, err := f.client.EvaluateAutoRerun(asha, &rerunv1.EvaluateAutoRerunRequest{LabReportId: 7001,
		DeviceData: []*rerunv1.DeviceValue{
			{Index: proto.Int32(1), Value: &typev1.RawJSON{Json: []byte(`"9.123454321"`)}},
			{Index: proto.Int32(3), Value: &typev1.RawJSON{Json: []byte(`1500.123454321`)}}}})
	if err != nil || answer.GetMessage() != "Auto rerun queued successfully" {
		t.Fatalf("got %v %v, want Auto rerun queued successfully", answer, err)
	}
	await.True(t, "the task of the rerun", func() bool { return f.queue.first() != nil })
	order := f.queue.first()
	if order.GetIdempotencyKey() == "" || order.GetLabId() != 12 {
		t.Fatalf("%v", order)
	}
	// The task queue posts the body to the gateway, which decodes it for this service.
	const start, end = `"args":`, `,"isBody"`
	data := string(order.GetTasks()[0].GetData().GetJson())
	posted := data[strings.Index(data, start)+len(start) : strings.Index(data, end)]
	in := &rerunv1.RequestRerunRequest{}
	if err := labjson.Unmarshal([]byte(posted), in); err != nil {
		t.Fatal(err)
	}
	in.ReportId = 7001
	saved, err := f.client.RequestRerun(f.internal(), in)
	if err != nil || saved.GetMessage() != "Auto Sample rerun requested successfully" || saved.GetRerunNumber() != 1 ||
		saved.GetSampleRedrawFlag() != 3 {
		t.Fatalf("%v %v", saved, err)
	}
	if _, err := f.client.RequestRerun(f.internal(), in); status.Code(err) != rpcerr.Code(apperr.Conflict) {
		t.Fatalf("a redelivery must conflict: %v", err)
	}
	again, err := f.client.EvaluateAutoRerun(asha, &rerunv1.EvaluateAutoRerunRequest{LabReportId: 7001,
		DeviceData: []*rerunv1.DeviceValue{{Index: proto.Int32(1), Value: &typev1.RawJSON{Json: []byte(`"9.123454321"`)}}}})
	if err != nil || again.GetMessage() != "Auto rerun didn't qualify for these values" {
		t.Fatalf("got %v %v, want Auto rerun didn't qualify for these values", again, err)
	}
	list, err := f.client.ListReruns(asha, &rerunv1.ListRerunsRequest{LabReportId: 7001})
	if err != nil || len(list.GetPendingRequests()) != 1 || list.GetPendingRequests()[0].GetCreatedBy() != -1 ||
		list.GetSampleRedrawFlag() != 3 {
		t.Fatalf("%v %v", list, err)
	}
	metrics := f.Get("/metrics")
	for _, line := range []string{`rerun_requested_total{type="Auto"} 1`, `rerun_requested_total{type="Manual"} 0`,
		`rerun_auto_evaluated_total{outcome="queued"} 1`,
		`rerun_failed_total{step="save"} 0`, `outbox_delivered_total{kind="taskqueue.enqueue"} 1`,
		`outbox_parked_rows{kind="taskqueue.enqueue"} 0`} {
		if !strings.Contains(metrics, line) {
			t.Errorf("metric %s is missing", line)
		}
	}
	f.KeepsSecret("123454321") // contained in both values, and not in a time or port by chance
}

func TestTwoLaboratoriesDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	f := start(t)
	asha, other := f.session("s12", 12), f.session("s13", 13)
	in := &rerunv1.RequestRerunRequest{ReportId: 7001, Type: proto.String("manual"),
		RequestedParameters: &typev1.RawJSON{Json: []byte(`"[1]"`)}}
	if _, err := f.client.RequestRerun(other, in); status.Code(err) != codes.NotFound {
		t.Fatalf("request: %v", err)
	}
	if _, err := f.client.RequestRerun(asha, in); err != nil {
		t.Fatal(err)
	}
	theirs := &rerunv1.ListRerunsRequest{LabReportId: 7001}
	if _, err := f.client.ListReruns(other, theirs); status.Code(err) != codes.NotFound {
		t.Fatalf("list: %v", err)
	}
	list, err := f.client.ListReruns(asha, &rerunv1.ListRerunsRequest{LabReportId: 7001})
	if err != nil || len(list.GetPendingRequests()) != 1 || len(list.GetReruns()) != 0 {
		t.Fatalf("%v %v", list, err)
	}
	in.LabId = proto.Int64(13)
	if _, err := f.client.RequestRerun(asha, in); status.Code(err) != codes.NotFound {
		t.Fatalf("another laboratory named: %v", err)
	}
	if _, err := f.client.ListReruns(t.Context(),
		&rerunv1.ListRerunsRequest{LabReportId: 7001}); status.Code(err) != codes.Unauthenticated {
		t.Fatalf("no one: %v", err)
	}
}

func TestAnAbsentDependencyMakesItLiveAndNotReady(t *testing.T) {
	t.Parallel()
	adminPort := strconv.Itoa(freeport.One(t))
	cfg, err := app.Service.Load([]string{"RERUN_HOST=127.0.0.1", "RERUN_GRPC_PORT=" + strconv.Itoa(freeport.One(t)), "RERUN_ADMIN_PORT=" +
		adminPort, "RERUN_DRAIN_DELAY_SECONDS=0",
		"RERUN_DB_PORT=1", "RERUN_KV_PORT=1", "RERUN_KV_CONNECTION_TYPE=standalone",
		"RERUN_MONGO_URI=mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200",
		"RERUN_SERVICE_TOKEN_SECRET=ssssssssssssssssssssssssssssssss"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Service.Serve(ctx, cfg, "test", &servicetest.Logs{}) }()
	await.Nil(t, "liveness", func() error {
		code, _, err := get(t, "http://127.0.0.1:"+adminPort+"/health/live")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("status %d", code)
		}
		return err
	})
	code, text, err := get(t, "http://127.0.0.1:"+adminPort+"/health/ready")
	if err != nil || code != http.StatusServiceUnavailable || !strings.Contains(text, "document_store") {
		t.Errorf("%d %s %v", code, text, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func get(t *testing.T, url string) (int, string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := (&http.Client{Timeout: 10 * time.Second}).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

func TestWrongSettingsAreNamed(t *testing.T) {
	t.Parallel()
	_, err := app.Service.Load([]string{"WEBHOOK_URL=gateway:8091", "RERUN_MONGO_URI=x", "RERUN_DB_POOL_SIZE=1"})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{"WEBHOOK_URL", "MONGO_URI", "DB_POOL_SIZE"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in %v", name, err)
		}
	}
}
