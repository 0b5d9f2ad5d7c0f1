package edge

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

const (
	maxJSONBytes = 1 << 20
	requestID    = "X-Request-Id"

	publicListener = "public"
)

// Deps holds the dependencies of an edge.
type Deps struct {
	Telemetry *telemetry.Telemetry
	Areas     []*Area
	// Connections holds one connection per deployed service, by area name.
	Connections map[string]grpc.ClientConnInterface
	// Pages are served on the public listener; they take precedence over areas.
	Pages []Page
	// Tokens verifies the callers of the internal listener and mints tokens for the edge's own calls; nil if that listener
	// is not used.
	Tokens *authn.ServiceTokens
	// TrustedOrigins lists other origins (scheme://host[:port]) whose pages may read and write with the user's session.
	TrustedOrigins []string
}

// Edge is the route table with its two listeners. It is safe for concurrent use.
type Edge struct {
	areas    areas
	pages    []Page
	muxes    muxes
	routes   routeTable
	log      *slog.Logger
	tokens   *authn.ServiceTokens
	origins  *http.CrossOriginProtection
	trusted  []string
	duration *prometheus.HistogramVec
	tel      *telemetry.Telemetry
}

// New returns an edge and registers its metric.
func New(ctx context.Context, deps Deps) (*Edge, error) {
	muxes, err := newMuxes(ctx, deps.Areas, deps.Connections)
	if err != nil {
		return nil, err
	}
	e := &Edge{
		areas: deps.Areas, pages: deps.Pages, muxes: muxes, routes: muxes[unknownArea].routes,
		log: deps.Telemetry.Logger, tokens: deps.Tokens, tel: deps.Telemetry,
		origins: http.NewCrossOriginProtection(), trusted: deps.TrustedOrigins,
		duration: telemetry.NewMetrics(deps.Telemetry.Registry).Histograms("http_server_request_duration_seconds",
			"Duration of a REST request in seconds, by route pattern.",
			[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60},
			telemetry.By[string]("listener"), telemetry.By[string]("area"), telemetry.By[string]("route"),
			telemetry.By[string]("method"), telemetry.By[string]("code_class")),
	}
	for _, origin := range deps.TrustedOrigins {
		if err := e.origins.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("trusted origin: %w", err)
		}
	}
	return e, nil
}

// Public returns the handler of the listener for browsers and REST clients.
func (e *Edge) Public() http.Handler {
	return e.listener(publicListener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callFrom(r.Context())
		stripHeaders(r.Header)
		stripTrace(r.Header)
		page := slices.IndexFunc(e.pages, func(p Page) bool { return p.Matches(routed(r)) })
		switch {
		case page >= 0:
			c.route = e.pages[page].Route
			e.allowOrigin(w, r)
			e.pages[page].Handler.ServeHTTP(w, r)
		case e.areas.internalOnly(routed(r)):
			writeNoSuchPath(w, c.area)
		case e.allowOrigin(w, r) && e.preflight(w, r):
		case slices.ContainsFunc(r.Header.Values("Authorization"), authn.IsServiceToken):
			httpserver.WriteError(w, c.area.Shape, apperr.New(apperr.Unauthenticated, "SERVICE_TOKEN_REFUSED",
				"This listener is for users. Services use the internal listener or gRPC."))
		case e.crossOrigin(r):
			httpserver.WriteError(w, c.area.Shape, apperr.New(
				apperr.Forbidden,
				"CROSS_ORIGIN",
				"This page may not send requests with your session. Send a bearer token instead, or ask the operator to trust its origin.",
			))
		default:
			e.muxes.serve(c, r)
		}
	}))
}

// crossOrigin reports whether r is a write from a page of an untrusted origin with the browser's cookie.
func (e *Edge) crossOrigin(r *http.Request) bool {
	return r.Header.Get("Cookie") != "" && r.Header.Get("Authorization") == "" && e.origins.Check(r) != nil
}

// listener wraps next with the steps that both listeners share.
func (e *Edge) listener(name string, next http.Handler) http.Handler {
	var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		keepSegments(r.URL)
		c := &call{ResponseWriter: w, area: e.areas.of(routed(r))}
		r = identified(name, w, r)
		httpserver.Harden(w.Header())
		if r.TLS != nil && name == publicListener {
			w.Header()["Strict-Transport-Security"] = strictTransport
		}
		defer e.finish(name, c, r, start)

		limits := c.area.limits(r.Method, routed(r))
		if r.ContentLength > limits.bodyBytes {
			httpserver.WriteError(c, c.area.Shape, limits.allow(tooLargeError(limits.bodyBytes)))
			return
		}
		if err := checkText(r); err != nil {
			httpserver.WriteError(c, c.area.Shape, err)
			return
		}
		r, cancel := limits.apply(c, r)
		defer cancel()
		next.ServeHTTP(c, r)
	})
	if !e.tel.Tracing {
		return handler
	}
	// On the public listener a caller's trace becomes a link only, so that the edge decides which requests are traced.
	public := func(*http.Request) bool { return name == publicListener }
	return otelhttp.NewHandler(handler, name,
		otelhttp.WithTracerProvider(e.tel.Tracers), otelhttp.WithPublicEndpointFn(public))
}

// strictTransport makes browsers use TLS for a year.
var strictTransport = []string{"max-age=31536000"}

// identified gives the request an id. A valid id from another service is kept, because it names the request that the
// service works on.
func identified(listener string, w http.ResponseWriter, r *http.Request) *http.Request {
	id := r.Header.Get(requestID)
	if listener == publicListener || !telemetry.IsRequestID(id) {
		id = strconv.FormatUint(rand.Uint64(), 16)
	}
	r.Header[requestID], w.Header()[requestID] = []string{id}, []string{id}
	return r.WithContext(telemetry.WithRequestID(r.Context(), id))
}

// notConfigured is the reason of a 503 when this installation lacks a provider or a setting. It does not count as a
// failure of the area: an alert of the service itself names what is missing.
const notConfigured = "NOT_CONFIGURED"

// class returns the status class for metrics, such as 2xx. Event streams, which last while someone watches, areas that
// are not deployed and requests that need missing settings have classes of their own, so that they do not distort
// latency and error rates.
func (c *call) class() string {
	switch {
	case c.status == http.StatusNotImplemented:
		return "501"
	case c.status == http.StatusServiceUnavailable && c.reason == notConfigured:
		return "off"
	case strings.HasPrefix(c.Header().Get("Content-Type"), "text/event-stream"):
		return "stream"
	}
	return strconv.Itoa(c.status/100) + "xx"
}

// finish recovers from a panic, records the duration and logs server errors.
func (e *Edge) finish(listener string, c *call, r *http.Request, start time.Time) {
	if p := recover(); p != nil {
		e.log.ErrorContext(r.Context(), "edge panicked", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
		e.tel.Report("panic in the edge")
		if c.status != 0 {
			// A partial response must not look complete, so the connection is broken.
			defer panic(http.ErrAbortHandler)
			c.status = http.StatusInternalServerError
		} else {
			e := apperr.New(apperr.Internal, "", "Something went wrong on our side. Try again.")
			httpserver.WriteError(c, c.area.Shape, e)
		}
	}
	route := c.route
	if route == "" {
		route = "unmatched"
	}
	span := trace.SpanFromContext(r.Context())
	span.SetName(spanName(r.Method, route))
	span.SetAttributes(semconv.HTTPRoute(route))
	elapsed := time.Since(start)
	telemetry.Observe(r.Context(), e.duration.WithLabelValues(listener, c.area.Name, route, methodLabel(r.Method),
		c.class()), elapsed.Seconds())
	if c.class() == "5xx" {
		e.log.ErrorContext(r.Context(), "request failed", "listener", listener, "route", route, "method", r.Method,
			"status", c.status, "ms", elapsed.Milliseconds())
	}
}

// spanName follows the semantic conventions: HTTP stands for unknown methods.
func spanName(method, route string) string {
	if methodLabel(method) == otherMethod {
		return "HTTP"
	}
	return method + " " + route
}

const otherMethod = "other"

// methodLabel maps unknown methods to "other", so that callers cannot create metric series.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet,
		http.MethodPost,
		http.MethodPut,
		http.MethodPatch,
		http.MethodDelete,
		http.MethodHead,
		http.MethodOptions:
		return method
	}
	return otherMethod
}
