// Package servicetest runs a whole service in the test's process, with its own database and Redis, and keeps its logs,
// metrics and spans, so that tests can check that these contain no patient data.
package servicetest

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
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/freeport"
	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
)

const secret = "a-service-token-secret-of-32-bytes"

// Service holds the functions of a service's package app.
type Service[C any] struct {
	Name, Prefix string
	Load         func(environ []string) (C, error)
	Migrate      func(ctx context.Context, cfg C, log *slog.Logger) error
	Serve        func(ctx context.Context, cfg C, version string, logs io.Writer) error
	Settings     []string // environment variables as KEY=value, with Prefix
	Rows         []string // statements that run after the migration
}

// Running is a running service.
type Running struct {
	DB    *sql.DB
	Cache *goredis.Client
	Conn  *grpc.ClientConn

	t      testing.TB
	name   string
	admin  string
	logs   Logs
	traces traces
	stop   func()
}

// Start migrates s and serves it until the test ends. The services that it calls are unavailable, unless Settings name
// their addresses. It logs at level debug.
func Start[C any](t testing.TB, s Service[C]) *Running {
	t.Helper()
	r := &Running{t: t, name: s.Name}
	var dsn string
	r.DB, dsn = mysqltest.Open(t)
	if err := legacydb.Create(t.Context(), r.DB); err != nil {
		t.Fatal(err)
	}
	cache := redistest.Start(t)
	r.Cache = cache.Client()
	ports := freeport.Some(t, 2)
	grpcPort, adminPort := strconv.Itoa(ports[0]), strconv.Itoa(ports[1])
	r.admin = "http://127.0.0.1:" + adminPort
	environ := append(
		r.environ(s.Prefix, dsn, cache.Addr),
		s.Prefix+"GRPC_PORT="+grpcPort,
		s.Prefix+"ADMIN_PORT="+adminPort,
	)
	cfg, err := s.Load(append(environ, s.Settings...))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(t.Context(), cfg, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	for _, statement := range s.Rows {
		if _, err := r.DB.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	r.serve(func(ctx context.Context) error { return s.Serve(ctx, cfg, "test", &r.logs) })
	if r.Conn, err = grpc.NewClient(
		"127.0.0.1:"+grpcPort,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
	); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Conn.Close() })
	await.True(t, "readiness", func() bool { return r.Get("/health/ready") != "" })
	return r
}

func (r *Running) serve(serve func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Errorf("service ended with %v, want nil", err)
		}
		if r.t.Failed() {
			r.t.Log(r.logs.String())
		}
	})
	r.t.Cleanup(r.stop)
}

func (r *Running) environ(prefix, dsn, cache string) []string {
	r.t.Helper()
	parsed, err := mysql.ParseDSN(dsn)
	if err != nil {
		r.t.Fatal(err)
	}
	dbHost, dbPort, _ := net.SplitHostPort(parsed.Addr)
	kvHost, kvPort, _ := net.SplitHostPort(cache)
	list := []string{
		"DB_HOST=" + dbHost,
		"DB_PORT=" + dbPort,
		"DB_USER=" + parsed.User,
		"DB_PASSWORD=" + parsed.Passwd,
		"DB_DATABASE=" + parsed.DBName,
		"KV_HOST=" + kvHost,
		"KV_PORT=" + kvPort,
		"KV_CONNECTION_TYPE=standalone",
		"HOST=127.0.0.1",
		"SERVICE_TOKEN_SECRET=" + secret,
		"LOG_LEVEL=DEBUG",
		"DRAIN_DELAY_SECONDS=0",
		"OPENTELEMETRY_ENDPOINT=" + r.traces.serve(r.t),
	}
	for i := range list {
		list[i] = prefix + list[i]
	}
	return list
}

// Get returns a page of the administration listener, or an empty string unless its status is 200.
func (r *Running) Get(path string) string {
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.admin+path, nil)
	if err != nil {
		r.t.Fatal(err)
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

// Log returns the lines that the service has logged so far.
func (r *Running) Log() string { return r.logs.String() }

// Session stores document, a JSON object to which it adds created_at, as the web session called name. It returns a
// context with the session's cookie.
func (r *Running) Session(name, document string) context.Context {
	r.t.Helper()
	document = fmt.Sprintf(`%s,"created_at":%d}`, strings.TrimSuffix(document, "}"), clock.System{}.Now().Unix())
	if err := r.Cache.Set(r.t.Context(), "session:"+name, document, time.Hour).Err(); err != nil {
		r.t.Fatal(err)
	}
	return metadata.AppendToOutgoingContext(r.t.Context(), "cookie", "sessionid="+name)
}

// As returns a context with a token of another service.
func (r *Running) As(caller string) context.Context {
	r.t.Helper()
	token, err := authn.NewServiceTokens(secret, caller, clock.System{}).Mint(r.name, "")
	if err != nil {
		r.t.Fatal(err)
	}
	return metadata.AppendToOutgoingContext(r.t.Context(), "authorization", "Bearer "+token)
}

// KeepsSecret stops the service and fails the test if its logs, metrics or spans contain one of the texts.
func (r *Running) KeepsSecret(canaries ...string) {
	r.t.Helper()
	metrics := r.Get("/metrics")
	r.stop()
	spans := r.traces.String()
	if metrics == "" || !strings.Contains(spans, r.name) {
		r.t.Errorf("metrics have %d bytes, spans %d bytes, want both from the service", len(metrics), len(spans))
	}
	for where, text := range map[string]string{"logs": r.logs.String(), "metrics": metrics, "spans": spans} {
		for _, canary := range canaries {
			if strings.Contains(text, canary) {
				r.t.Errorf("%[2]s contain %[1]q, want it absent", canary, where)
			}
		}
	}
}
