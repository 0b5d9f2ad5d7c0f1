package grpcapi_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/pkg/ratelimit"
	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	searchv1 "github.com/labplatform/labplatform/proto/gen/lab/search/v1"
	"github.com/labplatform/labplatform/services/search/internal/authcount"
	"github.com/labplatform/labplatform/services/search/internal/find"
	"github.com/labplatform/labplatform/services/search/internal/grpcapi"
	"github.com/labplatform/labplatform/services/search/internal/limit"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

const (
	secret    = config.Secret("mobile-mobile-mobile-mobile-mobile")
	perMinute = 4
)

// A fake index without patients.
type nobody struct{}

func (nobody) Search(context.Context, search.Scope, search.Query, search.Effort) (search.Result, error) {
	return search.Result{}, nil
}

// serve runs the service with a cache and an empty index. It returns a client and the log.
func serve(t *testing.T, cache *redistest.Server) (searchv1.SearchServiceClient, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	tel := &telemetry.Telemetry{Logger: slog.New(slog.NewTextHandler(&log, nil)), Registry: prometheus.NewRegistry(), Tracers: noop.NewTracerProvider()}
	client := cache.Client()
	auth := authcount.New(authn.NewAuthenticator(authn.Config{SessionCookieAgeSeconds: 28800, JWTSecret: secret},
		authn.NewRedisSessions(client), "search", clock.System{}), tel.Registry)
	limits := limit.NewMetrics(tel.Registry)
	found := find.NewMetrics(tel.Registry)
	finder := find.New(find.Deps{
		Limiter: limit.New(limit.Deps{
			Config:  limit.Config{PerMinute: perMinute},
			Counter: limit.NewCounter(ratelimit.New(client, limit.KeyPrefix), limits, tel.Logger, clock.System{}),
			Watch:   limit.NewWatch(limit.WatchDeps{Clock: clock.System{}, Log: tel.Logger, Metrics: limits}), Metrics: limits,
		}),
		Index: nobody{}, DefaultSize: 10, Clock: clock.System{}, Metrics: found,
	})
	server, err := grpcserver.New(grpcserver.Config{MaxInFlight: 10, DefaultDeadlineSeconds: 30, MaxMessageBytes: 1 << 20},
		grpcserver.Deps{Telemetry: tel, Authenticator: auth})
	must(t, err)
	searchv1.RegisterSearchServiceServer(server, grpcapi.New(grpcapi.Deps{Finder: finder, Reader: reader{}, Clock: clock.Fixed(today)}))
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(ctx, listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	t.Cleanup(func() {
		_ = conn.Close()
		stop()
		<-stopped
	})
	return searchv1.NewSearchServiceClient(conn), &log
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWithoutTheCacheCookiesWaitAndTokensSearchUnderTheSameLimit(t *testing.T) {
	t.Parallel()
	cache := redistest.Start(t)
	now := time.Now()
	must(t, cache.Client().Set(t.Context(), "session:asha",
		fmt.Sprintf(`{"session_type":"lab_user","lab_id":12,"lab_user_id":77,"created_at":%d}`, now.Unix()), 0).Err())
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"session_type": "lab_user", "lab_id": 12, "lab_user_id": 77, "exp": now.Add(time.Hour).Unix()}).
		SignedString([]byte(secret.Reveal()))
	must(t, err)
	client, log := serve(t, cache)
	call := func(header, value string) codes.Code {
		ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), header, value), 30*time.Second)
		defer cancel()
		_, err := client.SearchUsers(ctx, &searchv1.SearchUsersRequest{Query: new("canary rahul")})
		return status.Code(err)
	}
	cookie := func() codes.Code { return call("cookie", "sessionid=asha") }
	bearer := func() codes.Code { return call("authorization", "Bearer "+token) }

	if c := cookie(); c != codes.OK {
		t.Fatalf("cookie: %s", c)
	}
	if c := bearer(); c != codes.OK {
		t.Fatalf("token: %s", c)
	}
	cache.Kill()
	if c := cookie(); c != codes.Unavailable {
		t.Errorf("without the cache a cookie gets %s, want Unavailable", c)
	}
	for i := range perMinute - 2 { // two searches of the same person were admitted before
		if c := bearer(); c != codes.OK {
			t.Fatalf("without the cache search %d by token gets %s", i, c)
		}
	}
	if c := bearer(); c != codes.ResourceExhausted {
		t.Errorf("without the cache one search too many gets %s", c)
	}
	cache.Restart()
	if c := cookie(); c != codes.ResourceExhausted {
		t.Errorf("with the cache back the same person gets %s", c)
	}
	if strings.Contains(log.String(), "canary") {
		t.Error("the log holds what was searched for")
	}
}
