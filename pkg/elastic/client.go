package elastic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/elastic/elastic-transport-go/v8/elastictransport"
	"github.com/elastic/go-elasticsearch/v8/esapi"
	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

const (
	maxResponse = 64 << 20 // bytes
	firstDelay  = 100 * time.Millisecond
)

// Deps holds the dependencies of a client.
type Deps struct {
	Tracers trace.TracerProvider // nil turns traces off
	// CaptureSearches puts the bodies of searches into spans. They contain what users searched for, so it is off in
	// production. Bodies of writes are never captured.
	CaptureSearches bool
	// Roll returns a random number in [0,1) that spreads retries over time; nil means no spread.
	Roll func() float64
}

// Client sends requests to one cluster. It is safe for concurrent use.
type Client struct {
	base    *elastictransport.Client
	tracing elastictransport.Instrumentation // nil: off
	pool    *http.Transport
	several bool // the cluster has more than one address
	retries int
	budget  *budget
	timeout time.Duration
	roll    func() float64
}

// Open returns a client without connecting: an unavailable engine makes the service not ready, but does not stop it.
// The caller must close the client.
func Open(cfg Config, deps Deps) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	pool, err := cfg.transport()
	if err != nil {
		return nil, err
	}
	first, err := url.Parse(cfg.URLs[0])
	if err != nil {
		return nil, fmt.Errorf("open search engine: %w", err)
	}
	options := []elastictransport.Option{
		elastictransport.WithURLs(first),
		elastictransport.WithTransport(cfg.spread(pool)),
		elastictransport.WithDisableRetry(),
	}
	if cfg.APIKey.IsSet() {
		options = append(options, elastictransport.WithAPIKey(cfg.APIKey.Reveal()))
	}
	if cfg.Password.IsSet() {
		options = append(options, elastictransport.WithBasicAuth(cfg.User, cfg.Password.Reveal()))
	}
	// The root package of go-elasticsearch compiles its typed API, which takes longer than all services together.
	base, err := elastictransport.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("open search engine: %w", err)
	}
	c := &Client{
		base:    base,
		pool:    pool,
		several: len(cfg.URLs) > 1,
		retries: cfg.MaxRetries,
		budget:  newBudget(),
		timeout: cfg.timeout(),
		roll:    deps.Roll,
	}
	if deps.Tracers != nil {
		c.tracing = elastictransport.NewOtelInstrumentation(deps.Tracers, deps.CaptureSearches, "")
	}
	if c.roll == nil {
		c.roll = func() float64 { return 1 }
	}
	return c, nil
}

// Timeout returns the limit of one attempt. A timeout that is passed to the server must be shorter.
func (c *Client) Timeout() time.Duration { return c.timeout }

// Close closes the idle connections.
func (c *Client) Close() error {
	c.pool.CloseIdleConnections()
	return nil
}

// Ping returns an error if the engine does not respond. It is the readiness check.
func (c *Client) Ping(ctx context.Context) error {
	return c.Do(ctx, Call{Name: "ping", Request: esapi.PingRequest{}}, nil)
}

// Call describes one request.
type Call struct {
	Name    string        // the endpoint's name in spans: "bulk", "search", "indices.create"
	Request esapi.Request // without a body
	Body    []byte        // JSON, or lines of JSON for a bulk; nil for none
	// Repeat marks a request as idempotent. It is retried after 502, 503 and 504, and after a failure without an error
	// response (lost connection, timeout, unreadable response; not one that is too large), at most MaxRetries times and
	// within the retry budget.
	Repeat bool
	// AttemptTimeout limits an attempt that can be retried at another node, so that a hanging node does not use up
	// the caller's time. Zero, or a cluster with one address, means the client's timeout.
	AttemptTimeout time.Duration
}

// Do sends call and decodes the response into out: a pointer for encoding/json, a func(io.Reader) error, or nil to
// ignore the response. A response other than 2xx is returned as an *Error. After any other error it is unknown whether
// the engine executed the request.
func (c *Client) Do(ctx context.Context, call Call, out any) error {
	if c.tracing != nil && trace.SpanContextFromContext(ctx).IsValid() { // calls of background loops are not traced
		ctx = c.tracing.Start(ctx, call.Name)
		defer c.tracing.Close(ctx)
	}
	c.budget.called()
	err := c.repeat(ctx, call, out)
	if err != nil && c.tracing != nil {
		c.tracing.RecordError(ctx, err)
	}
	return err
}

// repeat makes attempts until one succeeds or may not be retried. Only an attempt whose retry could be reserved in the
// budget has the limit Call.AttemptTimeout; a retry that is not needed is given back.
func (c *Client) repeat(ctx context.Context, call Call, out any) error {
	for n := 0; ; n++ {
		last := n >= c.retries || !call.Repeat
		shorter := c.several && call.AttemptTimeout > 0 && !last && c.budget.take()
		limit := c.timeout
		if shorter {
			limit = min(limit, call.AttemptTimeout)
		}
		err := c.try(ctx, call, limit, out)
		if last || !repeatable(err) {
			if shorter {
				c.budget.giveBack()
			}
			return err
		}
		if !shorter && !c.budget.take() || lifecycle.Pause(ctx, c.delay(n)) != nil {
			return err
		}
	}
}

// delay returns a random time between half and all of 100 ms, 200 ms, 400 ms, …
func (c *Client) delay(n int) time.Duration {
	return time.Duration(float64(firstDelay) * math.Exp2(float64(n)) * (0.5 + c.roll()/2))
}

func (c *Client) try(ctx context.Context, call Call, limit time.Duration, out any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	response, err := call.Request.Do(ctx, &attempt{c, &call})
	if err != nil {
		return fmt.Errorf("%s: %w", call.Name, err)
	}
	defer response.Body.Close()
	defer drain(response.Body)
	body := &capped{from: response.Body, left: maxResponse}
	if response.StatusCode/100 != 2 {
		return parseError(call.Name, response.StatusCode, body)
	}
	if response.Header.Get("X-Elastic-Product") != "Elasticsearch" {
		return fmt.Errorf("%s: %w", call.Name, errNotElasticsearch)
	}
	return decode(call.Name, body, out)
}

var errNotElasticsearch = errors.New("the server is not Elasticsearch: check ES_URL")

// attempt is one attempt of a call.
type attempt struct {
	client *Client
	call   *Call
}

var _ esapi.Transport = (*attempt)(nil)

// Perform sends the request with the body of the call.
func (a *attempt) Perform(request *http.Request) (*http.Response, error) {
	tracing, call := a.client.tracing, a.call
	if call.Body != nil {
		request.ContentLength = int64(len(call.Body))
		request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(call.Body)), nil }
		request.Body, _ = request.GetBody()
		request.Header.Set("Content-Type", "application/json")
		if tracing != nil {
			if copied := tracing.RecordRequestBody(request.Context(), call.Name, bytes.NewReader(call.Body)); copied != nil {
				_ = copied.Close()
			}
		}
	}
	response, err := a.client.base.Perform(request)
	if tracing != nil {
		tracing.AfterRequest(request, "elasticsearch", call.Name)
	}
	return response, err
}

func decode(name string, body io.Reader, out any) error {
	var err error
	switch into := out.(type) {
	case nil:
		return nil
	case func(io.Reader) error:
		err = into(body)
	default:
		err = json.NewDecoder(body).Decode(out)
	}
	if err != nil {
		return fmt.Errorf("%s: read response: %w", name, err)
	}
	return nil
}

// drain reads the rest of a short response, so that its connection can be reused.
func drain(body io.Reader) {
	_, _ = io.CopyN(io.Discard, body, 64<<10)
}

var errTooLarge = errors.New("the response is larger than 64 MiB; request less at once")

// capped is an io.LimitReader that returns errTooLarge at its limit.
type capped struct {
	from io.Reader
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errTooLarge
	}
	n, err := c.from.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}
