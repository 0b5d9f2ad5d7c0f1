package elastic_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/elastic"
)

// open starts a server with handler and returns a client for it.
func open(t testing.TB, deps elastic.Deps, handler http.HandlerFunc, change ...func(*elastic.Config)) *elastic.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Elastic-Product", "Elasticsearch")
		w.Header().Set("Content-Type", "application/json")
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	cfg := elastic.Config{URLs: []string{server.URL}, User: "elastic", MaxRetries: 2, RequestTimeout: 5, MaxConnections: 4}
	for _, f := range change {
		f(&cfg)
	}
	client, err := elastic.Open(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestResponseIsDecoded(t *testing.T) {
	t.Parallel()
	client := open(t, elastic.Deps{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/user_details/_search?routing=12" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("request = %s %s, want the query routing=12 and JSON", r.URL, r.Header)
		}
		_, _ = io.Copy(w, r.Body)
	})
	var out struct{ A int }
	call := elastic.Call{Name: "search", Request: esapi.SearchRequest{Index: []string{"user_details"}, Routing: []string{"12"}}, Body: []byte(`{"a":7}`)}
	if err := client.Do(t.Context(), call, &out); err != nil || out.A != 7 {
		t.Fatalf("out = %+v, error %v, want A = 7", out, err)
	}
}

func TestErrorResponseIsTypedAndItsReasonIsNotPrinted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		want   elastic.Error
		text   string
	}{
		"an error object": {404, `{"error":{"root_cause":[{"type":"index_not_found_exception","reason":"secret"}],"type":"index_not_found_exception","reason":"secret"},"status":404}`,
			elastic.Error{Call: "x", Status: 404, Type: "index_not_found_exception", Cause: "index_not_found_exception", Reason: "secret"},
			"x: status 404 from the search engine: index_not_found_exception"},
		"a cause of another type": {429, `{"error":{"root_cause":[{"type":"circuit_breaking_exception"}],"type":"search_phase_execution_exception","reason":"secret"},"status":429}`,
			elastic.Error{Call: "x", Status: 429, Type: "search_phase_execution_exception", Cause: "circuit_breaking_exception", Reason: "secret"},
			"x: status 429 from the search engine: search_phase_execution_exception (circuit_breaking_exception)"},
		"a sentence":   {400, `{"error":"secret"}`, elastic.Error{Call: "x", Status: 400, Reason: "secret"}, "x: status 400 from the search engine"},
		"nothing":      {413, ``, elastic.Error{Call: "x", Status: 413}, "x: status 413 from the search engine"},
		"a proxy page": {502, `<html>secret</html>`, elastic.Error{Call: "x", Status: 502}, "x: status 502 from the search engine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := open(t, elastic.Deps{}, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			})
			err := client.Do(t.Context(), elastic.Call{Name: "x", Request: esapi.IndicesGetRequest{Index: []string{"x"}}}, nil)
			var got *elastic.Error
			if !errors.As(err, &got) || *got != c.want {
				t.Fatalf("error = %+v, want %+v", got, c.want)
			}
			if got.Error() != c.text {
				t.Errorf("Error() = %q, want %q", got, c.text)
			}
			if !elastic.IsStatus(err, c.status) || (c.want.Type != "" && !elastic.IsType(err, c.want.Type)) {
				t.Error("IsStatus or IsType = false, want true")
			}
		})
	}
}

func TestOnlyIdempotentCallsAreRetried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		repeat bool
		want   int32
	}{
		"an overloaded proxy, repeatable":     {503, true, 3},
		"an overloaded proxy, not repeatable": {503, false, 1},
		"an overloaded engine":                {429, true, 1},
		"a bad request":                       {400, true, 1},
		"a lost connection, repeatable":       {0, true, 3},
		"a lost connection, not repeatable":   {0, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			client := open(t, elastic.Deps{}, func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				if c.status == 0 {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(c.status)
			})
			err := client.Do(t.Context(), elastic.Call{Name: "x", Request: esapi.SearchRequest{Index: []string{"x"}}, Body: []byte(`{}`), Repeat: c.repeat}, nil)
			if err == nil || calls.Load() != c.want {
				t.Fatalf("calls = %d, want %d; error %v", calls.Load(), c.want, err)
			}
		})
	}
}

func TestSuccessfulRetryReturnsNoError(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	client := open(t, elastic.Deps{Roll: func() float64 { return 0 }}, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) != `{"a":1}` {
			t.Errorf("attempt %d: body = %q, want {\"a\":1}", calls.Load(), body)
		}
		if calls.Add(1) < 3 {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	if err := client.Do(t.Context(), elastic.Call{Name: "x", Request: esapi.SearchRequest{Index: []string{"x"}}, Body: []byte(`{"a":1}`), Repeat: true}, nil); err != nil {
		t.Fatal(err)
	}
}

func TestAttemptEndsAtTheTimeout(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	client := open(t, elastic.Deps{}, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}, func(c *elastic.Config) { c.RequestTimeout = 1 })
	err := client.Do(t.Context(), elastic.Call{Name: "x", Request: esapi.IndicesGetRequest{Index: []string{"x"}}}, nil)
	close(release)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error = %v, want DeadlineExceeded", err)
	}
}

func TestServerOfAnotherProductIsRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	client, err := elastic.Open(elastic.Config{URLs: []string{server.URL}, RequestTimeout: 5, MaxConnections: 1}, elastic.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Ping(t.Context()); err == nil {
		t.Fatal("Ping of a plain web server = nil, want an error")
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*elastic.Config)
		want   string
	}{
		"none":     {func(*elastic.Config) {}, ""},
		"password": {func(c *elastic.Config) { c.Password = "p" }, "Basic ZWxhc3RpYzpw"},
		"key":      {func(c *elastic.Config) { c.Password, c.APIKey = "p", "k" }, "APIKey k"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := open(t, elastic.Deps{}, func(_ http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Authorization"); got != c.want {
					t.Errorf("Authorization = %q, want %q", got, c.want)
				}
			}, c.change)
			if err := client.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestSpansContainSearchBodiesOnlyOnRequest(t *testing.T) {
	t.Parallel()
	for _, capture := range []bool{false, true} {
		t.Run(fmt.Sprint(capture), func(t *testing.T) {
			t.Parallel()
			recorder := tracetest.NewSpanRecorder()
			provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
			deps := elastic.Deps{Tracers: provider, CaptureSearches: capture}
			client := open(t, deps, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"error":{"type":"parsing_exception","reason":"canary-reason"}}`)
			})
			ctx, root := provider.Tracer("test").Start(t.Context(), "request")
			_ = client.Do(t.Context(), elastic.Call{Name: "without a span", Request: esapi.IndicesGetRequest{Index: []string{"x"}}}, nil)
			for _, name := range []string{"search", "bulk"} {
				_ = client.Do(ctx, elastic.Call{Name: name, Request: esapi.SearchRequest{Index: []string{"x"}}, Body: []byte("canary-" + name)}, nil)
			}
			ended := recorder.Ended()
			root.End()
			all := ""
			for _, span := range ended {
				all += fmt.Sprint(span.Name(), span.Attributes(), span.Events(), span.Status())
			}
			if len(ended) != 2 || strings.Contains(all, "canary-reason") || strings.Contains(all, "canary-bulk") {
				t.Errorf("spans = %d, want 2 without the reason and the bulk's body: %s", len(ended), all)
			}
			if strings.Contains(all, "canary-search") != capture {
				t.Errorf("CaptureSearches = %v, spans: %s", capture, all)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	var cfg struct {
		ES elastic.Config `envPrefix:"ES_"`
	}
	if err := config.Load("CDC_", &cfg, nil); err != nil {
		t.Fatal(err)
	}
	want := elastic.Config{URLs: []string{"http://localhost:9210"}, User: "elastic", CACert: "/app/certs/ca.crt", MaxRetries: 3, RequestTimeout: 30, MaxConnections: 20}
	if !reflect.DeepEqual(cfg.ES, want) {
		t.Errorf("defaults = %+v, want %+v", cfg.ES, want)
	}
	if _, err := elastic.Open(cfg.ES, elastic.Deps{}); err != nil {
		t.Errorf("Open with an http URL: %v, want the certificate ignored", err)
	}
	secure := cfg.ES
	secure.URLs, secure.CACert = []string{"https://localhost:9210"}, filepath.Join(t.TempDir(), "none.crt")
	if _, err := elastic.Open(secure, elastic.Deps{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open without the certificate's file: error = %v, want ErrNotExist", err)
	}
	for _, bad := range []string{"CDC_ES_URL=localhost:9200", "CDC_ES_URL=http://u:p@host:1", "CDC_ES_URL=http://a:1,https://b:1", "CDC_ES_URL=http://a:1,http://b:1/under", "CDC_ES_MAX_RETRIES=-1", "CDC_ES_REQUEST_TIMEOUT=0", "CDC_ES_MAX_CONNECTIONS=0"} {
		if err := config.Load("CDC_", &cfg, []string{bad}); err == nil {
			t.Errorf("%s is accepted, want an error", bad)
		}
	}
}

func TestRetryDelayEndsWithTheContext(t *testing.T) {
	t.Parallel()
	client := open(t, elastic.Deps{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		func(c *elastic.Config) { c.MaxRetries = 1000 })
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := client.Do(ctx, elastic.Call{Name: "x", Request: esapi.IndicesGetRequest{Index: []string{"x"}}, Repeat: true}, nil); err == nil {
		t.Fatal("Do = nil, want an error")
	}
}
