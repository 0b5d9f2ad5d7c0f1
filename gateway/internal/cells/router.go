package cells

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

// RefreshEvery is the interval at which the directory is read again.
const RefreshEvery = 2 * time.Second

const (
	dialTimeout     = 3 * time.Second
	responseTimeout = 150 * time.Second // after the last byte of the request; above the deadline of uploads
	perCell         = 256               // idle connections per cell
	moveWait        = 30 * time.Second  // Retry-After while a laboratory moves
)

// Router is the HTTP handler in front of the cells.
type Router struct {
	file      string
	directory atomic.Pointer[Directory]
	proxy     *httputil.ReverseProxy
	requests  *prometheus.CounterVec
	stale     prometheus.Gauge
}

var _ http.Handler = (*Router)(nil)

// destination is the cell of a request.
type destination struct {
	cell    string
	gateway *url.URL
}

type destinationKey struct{}

// New reads the directory in file and returns a router. It registers the router's metrics.
func New(file string, log *slog.Logger, registry prometheus.Registerer) (*Router, error) {
	m := telemetry.NewMetrics(registry)
	r := &Router{
		file: file,
		requests: m.Counters("gateway_cell_requests_total",
			"Requests forwarded to a cell, by the class of its response; none if it did not respond.",
			telemetry.By[string]("cell"), telemetry.By[string]("code_class")),
		stale: m.Gauge("gateway_directory_stale",
			"1 while the cell directory cannot be read and its last known state is used."),
	}
	transport := &http.Transport{
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		ResponseHeaderTimeout: responseTimeout, MaxIdleConnsPerHost: perCell, IdleConnTimeout: time.Minute,
		DisableCompression: true, // bodies are forwarded unchanged
	}
	r.proxy = &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to(p.In.Context()).gateway)
			p.Out.Host = p.In.Host // a cell compares it with the page's origin
		},
		ModifyResponse: func(response *http.Response) error {
			class := strconv.Itoa(response.StatusCode/100) + "xx"
			r.requests.WithLabelValues(to(response.Request.Context()).cell, class).Inc()
			return nil
		},
		ErrorHandler: r.unanswered,
	}
	return r, r.Refresh(context.Background())
}

func to(ctx context.Context) destination { return ctx.Value(destinationKey{}).(destination) }

// Refresh reads the directory again. After an error the previous directory stays in use.
func (r *Router) Refresh(context.Context) error {
	directory, err := Read(r.file)
	if err != nil {
		r.stale.Set(1)
		return err
	}
	r.stale.Set(0)
	r.directory.Store(directory)
	return nil
}

func (r *Router) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	directory := r.directory.Load()
	laboratory, known := directory.laboratories[plain(q.Host)]
	switch {
	case !known:
		refuse(w, apperr.New(apperr.NotFound, "LABORATORY_UNKNOWN",
			"No laboratory is known by this address. Check it, or ask who runs the platform."))
		return
	case laboratory.Moving:
		refuse(w, apperr.New(apperr.Unavailable, "LABORATORY_MOVES",
			"This laboratory is moving to another machine. Nothing was changed; send the request again in a minute.").
			WithRetryAfter(moveWait))
		return
	}
	httpserver.Paced(w, q) // the cell limits size and rate of the body
	httpserver.SetWriteTimeout(w, 0)
	target := destination{laboratory.Cell, directory.cells[laboratory.Cell]}
	r.proxy.ServeHTTP(httpserver.PacedResponse(w), q.WithContext(context.WithValue(q.Context(), destinationKey{}, target)))
}

func (r *Router) unanswered(w http.ResponseWriter, q *http.Request, _ error) {
	r.requests.WithLabelValues(to(q.Context()).cell, "none").Inc()
	refuse(w, apperr.New(apperr.Unavailable, "CELL_UNAVAILABLE", "The laboratory's system does not answer. Try again in a moment."))
}

func refuse(w http.ResponseWriter, err *apperr.Error) {
	httpserver.SkipBody(w)
	httpserver.WriteError(w, httpserver.Envelope, err)
}
