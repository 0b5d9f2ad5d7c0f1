package netguard_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/pkg/netguard"
)

func TestARequestIsASpanWithoutPathAndQuery(t *testing.T) {
	t.Parallel()
	var received http.Header
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received = r.Header
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusConflict)
		}
	}))
	t.Cleanup(receiver.Close)
	client := netguard.New(netguard.Config{AllowHTTP: true, AllowedHosts: []string{"127.0.0.1"}})
	t.Cleanup(client.Close)
	spans := tracetest.NewSpanRecorder()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	ctx, job := tracers.Tracer("test").Start(t.Context(), "job")
	for _, c := range []struct{ method, url, header, status, failure string }{
		{http.MethodPost, receiver.URL + "/Canary?token=Canary", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "200", ""},
		{http.MethodGet, receiver.URL + "/Canary", "", "200", ""},
		{http.MethodPut, receiver.URL, "", "409", "409"},
		{http.MethodPost, "http://127.0.0.1:1/Canary", "", "", "network"},
		{http.MethodPost, "http://10.0.0.1/Canary", "", "", "refused"},
	} {
		target, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		header := http.Header{}
		if c.header != "" {
			header.Set("Traceparent", c.header)
		}
		_, failure := client.Do(ctx, netguard.Request{Method: c.method, URL: target, Header: header, Timeout: time.Minute})
		ended := spans.Ended()
		span := ended[len(ended)-1]
		if span.Name() != c.method || span.SpanKind() != trace.SpanKindClient || span.Parent().SpanID() != job.SpanContext().SpanID() {
			t.Errorf("%s %s: span %q of kind %v, want a client's below the job's", c.method, c.url, span.Name(), span.SpanKind())
		}
		got := map[attribute.Key]string{}
		for _, a := range span.Attributes() {
			got[a.Key] = a.Value.String()
			if strings.Contains(a.Value.String(), "Canary") {
				t.Errorf("%s = %q has the path or query", a.Key, a.Value.String())
			}
		}
		if got["server.address"] != target.Hostname() || got["http.request.method"] != c.method ||
			got["http.response.status_code"] != c.status || got["error.type"] != c.failure {
			t.Errorf("%s %s: attributes %v, error %v; want status %q and error type %q", c.method, c.url, got, failure, c.status, c.failure)
		}
		if c.status == "" {
			continue
		}
		sent := received.Get("Traceparent")
		if continues := strings.Contains(sent, span.SpanContext().SpanID().String()); continues != (c.header != "") {
			t.Errorf("%s: traceparent %q was sent, want the span's exactly where there was one", c.method, sent)
		}
	}
	before := len(spans.Ended())
	target, _ := url.Parse(receiver.URL)
	if _, err := client.Do(t.Context(), netguard.Request{Method: http.MethodGet, URL: target, Header: http.Header{}, Timeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if len(spans.Ended()) != before {
		t.Error("a request outside of a trace made a span, want none")
	}
}
