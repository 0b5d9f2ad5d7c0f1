package app_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	goredis "github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/labjson"
	"github.com/labplatform/labplatform/pkg/rpcerr"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/mongotest"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/pkg/testkit/servicetest"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/app"
	"github.com/labplatform/labplatform/services/rerun/internal/store/enginetest"
)

const secret = "a-service-token-secret-of-32-bytes"

// queue is the task queue as the service sees it.
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

// bench is a running service on real engines, with a task queue that only listens.
type bench struct {
	t      *testing.T
	db     *sql.DB
	redis  *goredis.Client
	queue  *queue
	client rerunv1.RerunServiceClient
	admin  string
	logs   *servicetest.Logs
	cancel context.CancelFunc
	ended  chan error
}

// newBench is a bench without its service; it shows the service's logs when the test failed.
func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, queue: &queue{}, logs: &servicetest.Logs{}, ended: make(chan error, 1)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(b.logs)
		}
	})
	return b
}

func start(t *testing.T, overrides ...string) *bench {
	t.Helper()
	b := newBench(t)
	var dsn string
	b.db, dsn = mysqltest.Open(t)
	server := redistest.Start(t)
	b.redis = server.Client()
	grpcPort, adminPort := strconv.Itoa(servicetest.FreePort(t)), strconv.Itoa(servicetest.FreePort(t))
	environ := append(b.environ(dsn, server.Addr), "RERUN_GRPC_PORT="+grpcPort, "RERUN_ADMIN_PORT="+adminPort)
	cfg, err := app.Load(append(environ, overrides...))
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Seed(t, b.db)
	if err := app.Migrate(t.Context(), cfg, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.cancel = cancel
	go func() { b.ended <- app.Serve(ctx, cfg, "test", b.logs) }()
	t.Cleanup(b.stop)
	b.admin = "http://127.0.0.1:" + adminPort
	conn, err := grpc.NewClient("127.0.0.1:"+grpcPort, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	b.client = rerunv1.NewRerunServiceClient(conn)
	b.awaitReady()
	return b
}

func (b *bench) stop() {
	b.cancel()
	select {
	case err := <-b.ended:
		if err != nil {
			b.t.Errorf("the service ended with %v", err)
		}
	case <-time.After(40 * time.Second):
		b.t.Error("the service did not stop")
	}
}

func (b *bench) environ(dsn, redisAddr string) []string {
	b.t.Helper()
	my, err := mysql.ParseDSN(dsn)
	if err != nil {
		b.t.Fatal(err)
	}
	myHost, myPort, _ := net.SplitHostPort(my.Addr)
	kvHost, kvPort, _ := net.SplitHostPort(redisAddr)
	return []string{
		"RERUN_HOST=127.0.0.1", "RERUN_DRAIN_DELAY_SECONDS=0", "RERUN_SERVICE_TOKEN_SECRET=" + secret,
		"RERUN_OUTBOX_POLL_INTERVAL=50ms",
		"RERUN_DB_HOST=" + myHost, "RERUN_DB_PORT=" + myPort, "RERUN_DB_USER=" + my.User, "RERUN_DB_PASSWORD=" + my.Passwd,
		"RERUN_DB_DATABASE=" + my.DBName,
		"RERUN_KV_HOST=" + kvHost, "RERUN_KV_PORT=" + kvPort, "RERUN_KV_CONNECTION_TYPE=standalone",
		"RERUN_MONGO_URI=" + mongotest.URI(b.t), "RERUN_MONGO_DATABASE=" + mongotest.Database(b.t).Name(),
		"RERUN_TASKQUEUE_ADDR=" + b.serveQueue(), "WEBHOOK_URL=http://gateway:8091",
	}
}

func (b *bench) serveQueue() string {
	b.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	s := grpc.NewServer()
	taskqueuev1.RegisterTaskQueueServiceServer(s, b.queue)
	go func() { _ = s.Serve(l) }()
	b.t.Cleanup(s.Stop)
	return l.Addr().String()
}

func (b *bench) get(path string) (int, string, error) {
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.admin+path, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

func (b *bench) awaitReady() {
	b.t.Helper()
	await.Nil(b.t, "readiness", func() error {
		code, text, err := b.get("/health/ready")
		if err != nil {
			return err
		}
		if code != http.StatusOK {
			return fmt.Errorf("%d %s", code, text)
		}
		return nil
	})
}

// session stores a web session of laboratory labID and returns a context that presents it.
func (b *bench) session(id string, labID int) context.Context {
	b.t.Helper()
	document := fmt.Sprintf(`{"session_type":"lab_user","lab_id":%d,"lab_user_id":77,"full_name":"Asha R",`+
		`"created_at":%d}`, labID, time.Now().Unix())
	if err := b.redis.Set(b.t.Context(), "session:"+id, document, time.Hour).Err(); err != nil {
		b.t.Fatal(err)
	}
	return metadata.AppendToOutgoingContext(b.t.Context(), "cookie", "sessionid="+id)
}

func (b *bench) internal() context.Context {
	b.t.Helper()
	token, err := authn.NewServiceTokens(secret, "gateway", clock.System{}).Mint("rerun", "taskqueue")
	if err != nil {
		b.t.Fatal(err)
	}
	return metadata.AppendToOutgoingContext(b.t.Context(), "authorization", "Bearer "+token, "x-is-internal-request",
		"True")
}

func TestAnAutomaticRerunFromInstrumentToOpenRequest(t *testing.T) {
	t.Parallel()
	b := start(t)
	enginetest.Exec(t, b.db, `UPDATE ReportFormat SET meta = '{"auto_rerun_allowed":true,`+
		`"auto_rerun_parameter_condition":"abnormal"}' WHERE id IN (1, 3)`,
		"INSERT INTO ReportFormatRange (reportFormatId_id, gender, lowerBound, upperBound) VALUES (1, 'F', 12, 16), (3,"+
			" 'A', 4000, 11000)")
	asha := b.session("s12", 12)
	answer, err := b.client.EvaluateAutoRerun(asha, &rerunv1.EvaluateAutoRerunRequest{LabReportId: 7001,
		DeviceData: []*rerunv1.DeviceValue{
			{Index: proto.Int32(1), Value: &typev1.RawJSON{Json: []byte(`"9.123454321"`)}},
			{Index: proto.Int32(3), Value: &typev1.RawJSON{Json: []byte(`1500.123454321`)}}}})
	if err != nil || answer.GetMessage() != "Auto rerun queued successfully" {
		t.Fatalf("%v %v", answer, err)
	}
	await.True(t, "the task of the rerun", func() bool { return b.queue.first() != nil })
	order := b.queue.first()
	if order.GetIdempotencyKey() == "" || order.GetLabId() != 12 {
		t.Fatalf("%v", order)
	}
	// The queue posts the body to the gateway, which decodes it for this service.
	const start, end = `"args":`, `,"isBody"`
	data := string(order.GetTasks()[0].GetData().GetJson())
	posted := data[strings.Index(data, start)+len(start) : strings.Index(data, end)]
	in := &rerunv1.RequestRerunRequest{}
	if err := labjson.Unmarshal([]byte(posted), in); err != nil {
		t.Fatal(err)
	}
	in.ReportId = 7001
	saved, err := b.client.RequestRerun(b.internal(), in)
	if err != nil || saved.GetMessage() != "Auto Sample rerun requested successfully" || saved.GetRerunNumber() != 1 ||
		saved.GetSampleRedrawFlag() != 3 {
		t.Fatalf("%v %v", saved, err)
	}
	if _, err := b.client.RequestRerun(b.internal(), in); status.Code(err) != rpcerr.Code(apperr.Conflict) {
		t.Fatalf("a redelivery must conflict: %v", err)
	}
	again, err := b.client.EvaluateAutoRerun(asha, &rerunv1.EvaluateAutoRerunRequest{LabReportId: 7001,
		DeviceData: []*rerunv1.DeviceValue{{Index: proto.Int32(1), Value: &typev1.RawJSON{Json: []byte(`"9.123454321"`)}}}})
	if err != nil || again.GetMessage() != "Auto rerun didn't qualify for these values" {
		t.Fatalf("%v %v", again, err)
	}
	list, err := b.client.ListReruns(asha, &rerunv1.ListRerunsRequest{LabReportId: 7001})
	if err != nil || len(list.GetPendingRequests()) != 1 || list.GetPendingRequests()[0].GetCreatedBy() != -1 ||
		list.GetSampleRedrawFlag() != 3 {
		t.Fatalf("%v %v", list, err)
	}
	_, metrics, err := b.get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`rerun_requested_total{type="Auto"} 1`, `rerun_requested_total{type="Manual"} 0`,
		`rerun_auto_evaluated_total{outcome="queued"} 1`,
		`rerun_failed_total{step="save"} 0`, `outbox_delivered_total{kind="taskqueue.enqueue"} 1`,
		`outbox_parked_rows{kind="taskqueue.enqueue"} 0`} {
		if !strings.Contains(metrics, line) {
			t.Errorf("metric %s is missing", line)
		}
	}
	if strings.Contains(b.logs.String(), "123454321") { // in both values, and in no time or port by chance
		t.Error("a value stands in the log")
	}
}

func TestTwoLaboratoriesDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	b := start(t)
	asha, other := b.session("s12", 12), b.session("s13", 13)
	in := &rerunv1.RequestRerunRequest{ReportId: 7001, Type: proto.String("manual"),
		RequestedParameters: &typev1.RawJSON{Json: []byte(`"[1]"`)}}
	if _, err := b.client.RequestRerun(other, in); status.Code(err) != codes.NotFound {
		t.Fatalf("request: %v", err)
	}
	if _, err := b.client.RequestRerun(asha, in); err != nil {
		t.Fatal(err)
	}
	theirs := &rerunv1.ListRerunsRequest{LabReportId: 7001}
	if _, err := b.client.ListReruns(other, theirs); status.Code(err) != codes.NotFound {
		t.Fatalf("list: %v", err)
	}
	list, err := b.client.ListReruns(asha, &rerunv1.ListRerunsRequest{LabReportId: 7001})
	if err != nil || len(list.GetPendingRequests()) != 1 || len(list.GetReruns()) != 0 {
		t.Fatalf("%v %v", list, err)
	}
	in.LabId = proto.Int64(13)
	if _, err := b.client.RequestRerun(asha, in); status.Code(err) != codes.NotFound {
		t.Fatalf("another laboratory named: %v", err)
	}
	if _, err := b.client.ListReruns(t.Context(),
		&rerunv1.ListRerunsRequest{LabReportId: 7001}); status.Code(err) != codes.Unauthenticated {
		t.Fatalf("nobody: %v", err)
	}
}

func TestAnAbsentDependencyMakesItLiveAndNotReady(t *testing.T) {
	t.Parallel()
	adminPort := strconv.Itoa(servicetest.FreePort(t))
	cfg, err := app.Load([]string{"RERUN_HOST=127.0.0.1", "RERUN_GRPC_PORT=" + strconv.Itoa(servicetest.FreePort(t)), "RERUN_ADMIN_PORT=" +
		adminPort, "RERUN_DRAIN_DELAY_SECONDS=0",
		"RERUN_DB_PORT=1", "RERUN_KV_PORT=1", "RERUN_KV_CONNECTION_TYPE=standalone",
		"RERUN_MONGO_URI=mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200",
		"RERUN_SERVICE_TOKEN_SECRET=ssssssssssssssssssssssssssssssss"})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	b.admin = "http://127.0.0.1:" + adminPort
	ctx, cancel := context.WithCancel(t.Context())
	b.cancel = cancel
	go func() { b.ended <- app.Serve(ctx, cfg, "test", b.logs) }()
	await.Nil(t, "liveness", func() error {
		code, _, err := b.get("/health/live")
		if err != nil {
			return err
		}
		if code != http.StatusOK {
			return fmt.Errorf("status %d", code)
		}
		return nil
	})
	code, text, err := b.get("/health/ready")
	if err != nil || code != http.StatusServiceUnavailable || !strings.Contains(text, "document_store") {
		t.Fatalf("%d %s %v", code, text, err)
	}
	b.stop()
}

func TestWrongSettingsAreNamed(t *testing.T) {
	t.Parallel()
	_, err := app.Load([]string{"WEBHOOK_URL=gateway:8091", "RERUN_MONGO_URI=x", "RERUN_DB_POOL_SIZE=1"})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{"WEBHOOK_URL", "MONGO_URI", "DB_POOL_SIZE"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in %v", name, err)
		}
	}
}
