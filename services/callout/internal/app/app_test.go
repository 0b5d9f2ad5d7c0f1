package app_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	"github.com/labplatform/labplatform/services/callout/internal/app"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
)

const secret = "a-service-token-secret-of-32-bytes"

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// bench is a running service on real engines. The services that it calls are away.
type bench struct {
	t      *testing.T
	client calloutv1.CalloutServiceClient
	admin  string
	logs   *syncBuffer
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

func start(t *testing.T) *bench {
	t.Helper()
	db, dsn := mysqltest.Open(t)
	if err := legacydb.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	for _, statement := range storetest.World() {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	_, err := db.ExecContext(t.Context(), "INSERT INTO reportValues (labReportId_id, `index`, `order`, parameter_name, value) VALUES"+
		" (7001, 2, 2, 'Canary parameter', '7.13579')")
	if err != nil {
		t.Fatal(err)
	}
	cache := redistest.Start(t)
	for id, session := range sessions {
		text := fmt.Sprintf(session, clock.System{}.Now().Unix())
		if err := cache.Client().Set(t.Context(), "session:"+id, text, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	dbHost, dbPort, _ := net.SplitHostPort(parsed.Addr)
	kvHost, kvPort, _ := net.SplitHostPort(cache.Addr)
	grpcPort, adminPort, nobody := freePort(t), freePort(t), freePort(t)
	cfg, err := app.Load([]string{
		"CALLOUT_DB_HOST=" + dbHost, "CALLOUT_DB_PORT=" + dbPort, "CALLOUT_DB_USER=" + parsed.User, "CALLOUT_DB_PASSWORD=" + parsed.Passwd,
		"CALLOUT_DB_DATABASE=" + parsed.DBName, "CALLOUT_KV_HOST=" + kvHost, "CALLOUT_KV_PORT=" + kvPort, "CALLOUT_KV_CONNECTION_TYPE=standalone",
		"CALLOUT_HOST=127.0.0.1", "CALLOUT_GRPC_PORT=" + grpcPort, "CALLOUT_ADMIN_PORT=" + adminPort, "CALLOUT_SERVICE_TOKEN_SECRET=" + secret,
		"CALLOUT_TASKQUEUE_ADDR=127.0.0.1:" + nobody, "CALLOUT_LOG_LEVEL=DEBUG", "CALLOUT_DRAIN_DELAY_SECONDS=0",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Migrate(t.Context(), cfg, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, logs: &syncBuffer{}, admin: "http://127.0.0.1:" + adminPort}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- app.Serve(ctx, cfg, "test", b.logs) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the service ended with %v", err)
		}
	})
	conn, err := grpc.NewClient("127.0.0.1:"+grpcPort, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	b.client = calloutv1.NewCalloutServiceClient(conn)
	await.True(t, "readiness", func() bool { return b.get("/health/ready") != "" })
	return b
}

var sessions = map[string]string{
	"user":         `{"session_type":"lab_user","lab_id":12,"lab_user_id":77,"username":"asha","full_name":"Asha R","department_ids":[4,5],"created_at":%d}`,
	"support":      `{"session_type":"support","lab_id":12,"lab_user_id":1,"created_at":%d}`,
	"homeless":     `{"session_type":"support","lab_user_id":1,"created_at":%d}`,
	"other":        `{"session_type":"lab_user","lab_id":13,"lab_user_id":87,"department_ids":[5],"created_at":%d}`,
	"organization": `{"session_type":"organization","lab_id":12,"org_id":45,"created_at":%d}`,
}

func (b *bench) get(path string) string {
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.admin+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	response, err := (&http.Client{Timeout: 5 * time.Second}).Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return ""
	}
	return string(text)
}

// as returns the context of a session, or of a service when the name begins with service/.
func (b *bench) as(name string) context.Context {
	b.t.Helper()
	service, ok := strings.CutPrefix(name, "service/")
	if !ok {
		return metadata.AppendToOutgoingContext(b.t.Context(), "cookie", "sessionid="+name)
	}
	token, err := authn.NewServiceTokens(secret, service, clock.System{}).Mint("callout", "")
	if err != nil {
		b.t.Fatal(err)
	}
	return metadata.AppendToOutgoingContext(b.t.Context(), "authorization", "Bearer "+token)
}

// operations are all of them, on bill 400 and report 7001 of laboratory 12.
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
		if err == nil && event.GetEvent() == "" { // admitted
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

// TestWhoMayCallEachOperation plays every operation as every caller. No canary of a patient comes out anywhere.
func TestWhoMayCallEachOperation(t *testing.T) {
	t.Parallel()
	b := start(t)
	const ok, forbidden, invalid, absent, anonymous = codes.OK, codes.PermissionDenied, codes.InvalidArgument, codes.NotFound, codes.Unauthenticated
	order := []string{"evaluate bill", "evaluate reports", "records", "logs", "audit", "open", "watch", "summary", "draft"}
	for caller, want := range map[string][]codes.Code{
		"service/core":          {ok, ok, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden},
		"service/rerun":         {forbidden, ok, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden},
		"service/gateway":       {ok, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden},
		"service/notifications": {forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden},
		"nobody":                {anonymous, anonymous, anonymous, anonymous, anonymous, anonymous, anonymous, anonymous, anonymous},
		"organization":          {forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden, forbidden},
		"homeless":              {forbidden, forbidden, invalid, invalid, invalid, invalid, invalid, invalid, invalid},
		"other":                 {forbidden, forbidden, absent, ok, ok, ok, ok, ok, absent},
	} {
		for i, name := range order {
			if got := status.Code(operations[name](b.as(caller), b.client)); got != want[i] {
				t.Errorf("%s as %s: %v, want %v", name, caller, got, want[i])
			}
		}
	}
	for _, caller := range []string{"user", "support"} { // after the report was evaluated
		for _, name := range order[2:] {
			if err := operations[name](b.as(caller), b.client); err != nil {
				t.Errorf("%s as %s: %v", name, caller, err)
			}
		}
	}
	metrics := b.get("/metrics")
	for name, text := range map[string]string{"logs": b.logs.String(), "metrics": metrics} {
		for _, canary := range []string{"7.13579", "Canary", "canary", "Asha"} {
			if strings.Contains(text, canary) {
				t.Errorf("%q is in the %s", canary, name)
			}
		}
	}
	for _, series := range []string{
		`callout_operation_seconds_count{operation="records"}`, `callout_saved_total{kind="completed"} 0`, `callout_reaped_total{what="overdue"} 0`,
		"callout_escalated_total 0", "callout_reports_critical_total 1", "callout_suppressed_total 0", "callout_swept_total", "callout_event_streams 0",
		`outbox_waiting_rows{kind="notifications.notify"}`, `outbox_waiting_rows{kind="taskqueue.wake"}`,
	} {
		if !strings.Contains(metrics, series) {
			t.Errorf("no %s in the metrics", series)
		}
	}
}

func TestSettingsThatCannotWorkAreAllNamed(t *testing.T) {
	t.Parallel()
	_, err := app.Load([]string{
		"CALLOUT_SERVICE_TOKEN_SECRET=" + secret, "CALLOUT_ESCALATE_AFTER=1ms", "CALLOUT_ESCALATE_MOST=0", "WEBHOOK_URL=gateway",
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
