package app

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/golang-jwt/jwt/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/search/internal/find"
	"github.com/labplatform/labplatform/services/search/internal/freshness"
	"github.com/labplatform/labplatform/services/search/internal/limit"
	"github.com/labplatform/labplatform/services/search/internal/search"
	elasticstore "github.com/labplatform/labplatform/services/search/internal/store/elastic"
)

func ofListener() map[string]effect {
	address := func(_ *testing.T, _ *world, c *Config) string { return c.Admin().Address() + ";" + c.GRPC.Host }
	return map[string]effect{
		"HOST": {value: "0.0.0.0", seen: address, want: "0.0.0.0:8000;0.0.0.0"},
		"PORT": {value: "8123", seen: address, want: ":8123"},
		"WORKERS_COUNT": {value: "3", want: "3 processors", seen: func(_ *testing.T, _ *world, c *Config) string {
			return fmt.Sprint(c.processors(8), " processors")
		}},
		"DEFAULT_SIZE": {value: "7", want: "7 hits", seen: func(t *testing.T, _ *world, c *Config) string {
			page := &pages{}
			metrics := find.NewMetrics(prometheus.NewRegistry())
			_, err := find.New(find.Deps{Limiter: page, Index: page, DefaultSize: c.DefaultSize, Clock: clock.System{}, Metrics: metrics}).
				Search(t.Context(), authn.Principal{Kind: authn.Session, LabID: 7}, find.Command{Request: search.Request{Query: "rahul"}})
			return fmt.Sprint(page.size, " hits ", err)
		}},
	}
}

// pages is a limiter that admits every search, and an index that records the page size.
type pages struct{ size int }

func (p *pages) Admit(context.Context, authn.Principal, authn.LabScope) (search.Effort, error) {
	return search.Full, nil
}

func (p *pages) Search(_ context.Context, _ search.Scope, q search.Query, _ search.Effort) (search.Result, error) {
	p.size = q.Size
	return search.Result{}, nil
}

func ofTelemetry() map[string]effect {
	traced := []string{"OPENTELEMETRY_ENDPOINT=$TRACES"}
	return map[string]effect{
		"ENVIRONMENT": {value: "production", want: "must be false in production", seen: func(_ *testing.T, _ *world, c *Config) string {
			c.CaptureSearchQuery = true
			return fmt.Sprint(c.Validate())
		}},
		"LOG_LEVEL":                   {value: "DEBUG", seen: told, want: "a detail"},
		"LOG_JSON":                    {value: "false", seen: told, want: `msg="a fact"`},
		"OPENTELEMETRY_ENDPOINT":      {value: "$TRACES", seen: told, want: "traces"},
		"OPENTELEMETRY_API_KEY":       {value: "key-of-a-test", with: traced, seen: told, want: "key-of-a-test"},
		"DEPLOYMENT_REGION":           {value: "eu-test-9", with: traced, seen: told, want: "eu-test-9"},
		"ERROR_REPORTING_SAMPLE_RATE": {value: "0", with: traced, seen: told, want: "no span"},
		"ERROR_REPORTING_DSN":         {value: "$REPORTS", seen: told, want: "/api/1/"},
	}
}

// told returns everything that a process exports about itself: logs, traces and error reports.
func told(t *testing.T, w *world, c *Config) string {
	t.Helper()
	var log strings.Builder
	all, err := telemetry.Start(t.Context(), Name, "test", c.Telemetry, &log)
	if err != nil {
		t.Fatal(err)
	}
	all.Logger.Debug("a detail")
	all.Logger.Info("a fact")
	all.Report("a defect")
	_, span := all.Tracers.Tracer("test").Start(t.Context(), "a span")
	span.End()
	all.Shutdown(t.Context())
	heard := w.heard()
	if !strings.Contains(heard, "a span") {
		heard += "no span; tracing " + strconv.FormatBool(all.Tracing)
	}
	return log.String() + heard
}

func ofIndex() map[string]effect {
	here := "ES_URL=$INDEX"
	return map[string]effect{
		"ES_URL":      {value: "$INDEX", with: []string{"ES_MAX_RETRIES=0", "ES_REQUEST_TIMEOUT=1"}, seen: searched, want: "_search"},
		"ES_USER":     {value: "reader", with: []string{here, "ES_PASSWORD=pass"}, seen: searched, want: "Basic cmVhZGVyOnBhc3M="},
		"ES_PASSWORD": {value: "pass", with: []string{here}, seen: searched, want: "Basic "},
		"ES_API_KEY":  {value: "a-key", with: []string{here}, seen: searched, want: "APIKey a-key"},
		"ES_CA_CERT":  {value: "$CERT", with: []string{"ES_URL=$SECURE"}, seen: searched, want: "_search"},
		"ES_MAX_RETRIES": {value: "0", with: []string{here}, want: "1 attempts", seen: func(t *testing.T, w *world, c *Config) string {
			w.status = http.StatusServiceUnavailable
			return fmt.Sprint(strings.Count(searched(t, w, c), "_search"), " attempts")
		}},
		"ES_REQUEST_TIMEOUT": {value: "7", with: []string{here}, want: "within 7s", seen: func(t *testing.T, _ *world, c *Config) string {
			return "within " + opened(t, c).Timeout().String()
		}},
		"ES_MAX_CONNECTIONS": {value: "1", with: []string{here}, want: "1 at once", seen: func(t *testing.T, w *world, c *Config) string {
			client := opened(t, c)
			w.most = 0
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() { _ = client.Ping(t.Context()) })
			}
			both.Wait()
			return fmt.Sprint(w.most, " at once")
		}},
		"ES_SEARCH_TIMEOUT":       {value: "60", with: []string{here}, seen: searched, want: `"timeout":"53`},
		"INDEX_ALIAS":             {value: "people", with: []string{here}, seen: searched, want: "/people_schema"},
		"ES_CAPTURE_SEARCH_QUERY": {value: "true", with: []string{here}, seen: spans, want: "rahul"},
	}
}

func opened(t *testing.T, c *Config) *elastic.Client {
	t.Helper()
	client, err := c.openIndex(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// searched returns the requests that the engine receives for a search.
func searched(t *testing.T, w *world, c *Config) string { return searchedFor(t, w, c, "rahul") }

func searchedFor(t *testing.T, w *world, c *Config, text string) string {
	t.Helper()
	client, err := c.openIndex(nil)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = client.Close() }()
	scope, err := search.ScopeOf(authn.Principal{Kind: authn.Session, LabID: 7}, 0)
	if err != nil {
		t.Fatal(err)
	}
	q, err := search.NewQuery(search.Request{Query: text}, c.DefaultSize)
	if err != nil {
		t.Fatal(err)
	}
	_, err = elasticstore.New(client, c.Index, clock.System{}).Search(t.Context(), scope, q, search.Full)
	return fmt.Sprint(w.heard(), err)
}

// spans returns the exported traces of a search.
func spans(t *testing.T, _ *world, c *Config) string {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	client, err := c.openIndex(provider)
	if err != nil {
		t.Fatal(err)
	}
	ctx, root := provider.Tracer("test").Start(t.Context(), "request")
	call := elastic.Call{Name: "search", Request: esapi.SearchRequest{Index: []string{"x"}}, Body: []byte(`{"query":"rahul"}`)}
	if err := client.Do(ctx, call, nil); err != nil {
		t.Fatal(err)
	}
	root.End()
	var all strings.Builder
	for _, span := range recorder.Ended() {
		fmt.Fprintln(&all, span.Name(), span.Attributes())
	}
	return all.String()
}

func ofRanking() map[string]effect {
	on := []string{"ES_URL=$INDEX", "RECENCY_DECAY_ENABLED=true"}
	return map[string]effect{
		"RECENCY_DECAY_ENABLED":     {value: "true", with: on[:1], seen: searched, want: "function_score"},
		"RECENCY_DECAY_SCALE_DAYS":  {value: "30", with: on, seen: searched, want: `"scale":"30d"`},
		"RECENCY_DECAY_OFFSET_DAYS": {value: "3", with: on, seen: searched, want: `"offset":"3d"`},
		"RECENCY_DECAY_FACTOR":      {value: "0.25", with: on, seen: searched, want: `"decay":0.25`},
		"RECENCY_DECAY_WEIGHT":      {value: "2", with: on, seen: searched, want: `"weight":2,"gauss"`},
		"PHONE_COUNTRY_CODES": {value: "44", with: on[:1], want: "449876543210", seen: func(t *testing.T, w *world, c *Config) string {
			return searchedFor(t, w, c, "9876543210")
		}},
	}
}

// progress is a fake that always reports an index complete up to two minutes ago.
type progress struct{ probes int }

func (p *progress) CompleteTo(context.Context) (time.Time, error) {
	p.probes++
	return time.Now().Add(-2 * time.Minute), nil
}

func ofFreshness() map[string]effect {
	seen := func(t *testing.T, _ *world, c *Config) (says string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			p := &progress{}
			watch := freshness.New(freshness.Deps{Config: c.Freshness, Progress: p, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)})
			ctx, stop := context.WithTimeout(t.Context(), 295*time.Second)
			defer stop()
			if err := watch.Run(ctx); err != nil {
				t.Error(err)
			}
			says = fmt.Sprintf("%s after %d probes", watch.Report().Status, p.probes)
		})
		return says
	}
	return map[string]effect{
		"CDC_STALE_THRESHOLD_SECONDS": {value: "60", seen: seen, want: "stale"},
		"CDC_PROBE_INTERVAL_SECONDS":  {value: "10", seen: seen, want: "after 30 probes"},
	}
}

// counted is a fake reader of the mode that counts its calls.
type counted struct{ read int }

func (m *counted) Mode(context.Context) (string, error) {
	m.read++
	return "", nil
}

func readings(t *testing.T, _ *world, c *Config) (says string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		metrics := limit.NewMetrics(prometheus.NewRegistry())
		m := &counted{}
		watch := limit.NewWatch(limit.WatchDeps{Reader: m, Every: c.Limit.Every(), Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), Metrics: metrics})
		ctx, stop := context.WithTimeout(t.Context(), 58*time.Second)
		defer stop()
		if err := watch.Run(ctx); err != nil {
			t.Error(err)
		}
		says = fmt.Sprint(m.read, " readings")
	})
	return says
}

func perMinute(_ *testing.T, _ *world, c *Config) string {
	return fmt.Sprintf("%d normal;%d degraded;%d emergency", c.Limit.PerMinuteIn(limit.Normal), c.Limit.PerMinuteIn(limit.Degraded), c.Limit.PerMinuteIn(limit.Emergency))
}

func ofLimits() map[string]effect {
	return map[string]effect{
		"RATE_LIMIT_READS_PER_MINUTE": {value: "7", seen: func(_ *testing.T, _ *world, c *Config) string {
			return fmt.Sprint(c.Limit.ReadsPerMinute, " patients")
		}, want: "7 patients"},
		"RATE_LIMIT_CONFIG_CACHE_TTL":     {value: "20", seen: readings, want: "3 readings"},
		"RATE_LIMIT_PER_MINUTE":           {value: "77", seen: perMinute, want: "77 normal"},
		"RATE_LIMIT_DEGRADED_PER_MINUTE":  {value: "17", seen: perMinute, want: "17 degraded"},
		"RATE_LIMIT_EMERGENCY_PER_MINUTE": {value: "3", seen: perMinute, want: ";3 emergency"},
		"RATE_LIMIT_KV_URL": {value: "redis://modes.test:6399", want: "modes.test:6399", seen: func(t *testing.T, _ *world, c *Config) string {
			client, err := c.openModes()
			if err != nil || client == nil {
				return fmt.Sprint("no cache ", err)
			}
			defer func() { _ = client.Close() }()
			return client.(*redis.Client).Options().Addr // the client has one node
		}},
	}
}

func ofCache() map[string]effect {
	seen := func(_ *testing.T, _ *world, c *Config) string {
		o := redisdb.Options(c.KV)
		return fmt.Sprintf("%v, cluster %t, user %q, password %q", o.Addrs, o.IsClusterMode, o.Username, o.Password)
	}
	bySentinel := func(_ *testing.T, _ *world, c *Config) string {
		kv := c.KV
		kv.Sentinels = append(kv.Sentinels, "sentinel.test:26379")
		o := redisdb.Options(kv)
		return fmt.Sprintf("%v, master %s, user %q, password %q", o.Addrs, o.MasterName, o.SentinelUsername, o.SentinelPassword)
	}
	return map[string]effect{
		"KV_SENTINELS":       {value: "a.test:26379", seen: bySentinel, want: "[a.test:26379 sentinel.test:26379]"},
		"KV_SENTINEL_MASTER": {value: "sessions", seen: bySentinel, want: "master sessions,"},
		"KV_SENTINEL_USER":   {value: "watcher", seen: bySentinel, want: `user "watcher"`},
		"KV_SENTINEL_PASS":   {value: "word", seen: bySentinel, want: `password "word"`},
		"KV_HOST":            {value: "cache.test", seen: seen, want: "[cache.test:7001]"},
		"KV_PORT":            {value: "6399", seen: seen, want: ":6399]"},
		"KV_CONNECTION_TYPE": {value: "standalone", seen: seen, want: "cluster false"},
		"KV_USER":            {value: "reader", seen: seen, want: `user "reader"`},
		"KV_PASS":            {value: "word", seen: seen, want: `password "word"`},
	}
}

// Session returns a session that is ten hours old.
func (w *world) Session(context.Context, string) ([]byte, error) {
	return fmt.Appendf(nil, `{"session_type":"lab_user","lab_id":12,"lab_user_id":1,"created_at":%d}`, time.Now().Add(-10*time.Hour).Unix()), nil
}

func ofCredentials() map[string]effect {
	bearer := func(age time.Duration) func(*testing.T, *world, *Config) string {
		return func(t *testing.T, w *world, c *Config) string {
			issued := time.Now().Add(-age)
			token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"session_type": "lab_user", "lab_id": 12, "lab_user_id": 1,
				"iat": issued.Unix(), "exp": issued.Add(time.Hour).Unix()}).SignedString([]byte(w.place.Replace("$SECRET")))
			if err != nil {
				t.Fatal(err)
			}
			return admitted(t, w, c, authn.Credentials{Authorization: "Bearer " + token})
		}
	}
	return map[string]effect{
		"JWT_SECRET":           {value: "$SECRET", seen: bearer(time.Minute), want: "laboratory 12"},
		"PY2_JWT_SECRET":       {value: "$SECRET", seen: bearer(time.Minute), want: "laboratory 12"},
		"EPHEMERAL_JWT_SECRET": {value: "$SECRET", seen: bearer(time.Minute), want: "laboratory 12"},
		"EPHEMERAL_JWT_MAX_AGE_SECONDS": {value: "900", with: []string{"EPHEMERAL_JWT_SECRET=$SECRET"}, seen: bearer(10 * time.Minute),
			want: "laboratory 12"},
		"SESSION_COOKIE_AGE": {value: "86400", want: "laboratory 12", seen: func(t *testing.T, w *world, c *Config) string {
			return admitted(t, w, c, authn.Credentials{Cookie: "sessionid=abc"})
		}},
	}
}

func admitted(t *testing.T, w *world, c *Config, credentials authn.Credentials) string {
	t.Helper()
	p, err := authn.NewAuthenticator(c.Auth, w, Name, clock.System{}).Authenticate(t.Context(), credentials)
	return fmt.Sprintf("laboratory %d: %v", p.LabID, err)
}

func ofDatabase() map[string]effect {
	return map[string]effect{
		"DB_HOST":         {value: "127.0.0.9", with: []string{"DB_PORT=1"}, seen: dialled, want: "127.0.0.9:1:"},
		"DB_PORT":         {value: "2", with: []string{"DB_HOST=127.0.0.9"}, seen: dialled, want: "127.0.0.9:2:"},
		"DB_USER":         {value: "reader", seen: greeted, want: "reader\x00"},
		"DB_PASSWORD":     {value: "word", seen: greeted, want: "lab\x00\x14"}, // with a password proof of 20 bytes
		"DB_DATABASE":     {value: "patients", seen: greeted, want: "\x00patients\x00"},
		"DB_POOL_SIZE":    {value: "23", want: "23 connections", seen: pooled},
		"DB_POOL_RECYCLE": {value: "60", want: "for 1m0s", seen: pooled},
	}
}

func database(t *testing.T, c *Config) *sql.DB {
	t.Helper()
	db, err := mysqldb.Open(c.DB, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func pooled(t *testing.T, _ *world, c *Config) string {
	t.Helper()
	db := database(t, c)
	lifetime := time.Duration(reflect.ValueOf(db).Elem().FieldByName("maxLifetime").Int()) // not exported
	return fmt.Sprint(db.Stats().MaxOpenConnections, " connections for ", lifetime)
}

func dialled(t *testing.T, _ *world, c *Config) string {
	t.Helper()
	return fmt.Sprint(database(t, c).PingContext(t.Context()))
}

// greeted returns the driver's login packet, received by a fake server that sends a greeting and then disconnects.
func greeted(t *testing.T, _ *world, c *Config) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	said := make(chan string, 1)
	go func() {
		defer close(said)
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		defer connection.Close()
		_, _ = connection.Write(greeting())
		head := make([]byte, 4)
		if _, err := io.ReadFull(connection, head); err != nil {
			return
		}
		body := make([]byte, int(head[0])|int(head[1])<<8)
		_, _ = io.ReadFull(connection, body)
		said <- string(body)
	}()
	c.DB.Host, c.DB.Port = "127.0.0.1", listener.Addr().(*net.TCPAddr).Port // the driver then uses TCP
	db := database(t, c)
	db.SetMaxOpenConns(1)
	_ = db.PingContext(t.Context())
	return <-said
}

// greeting returns the first packet of a server that accepts native passwords.
func greeting() []byte {
	const low, high = 0xa209, 0x0008 // capabilities: protocol 4.1, databases, transactions, secure connections, plug-ins
	b := append([]byte{10}, "8.0.36\x00\x01\x00\x00\x00saltsalt\x00"...)
	b = append(binary.LittleEndian.AppendUint16(b, low), 45, 2, 0)
	b = append(binary.LittleEndian.AppendUint16(b, high), 21)
	b = append(append(b, make([]byte, 10)...), "saltsaltsalt\x00mysql_native_password\x00"...)
	return append([]byte{byte(len(b)), 0, 0, 0}, b...)
}
