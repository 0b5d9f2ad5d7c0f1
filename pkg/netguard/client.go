package netguard

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Config holds the limits of a client; zero values mean the defaults in brackets.
type Config struct {
	AllowHTTP bool  // allows http:// URLs too
	Ports     []int // allowed ports [80, 443]
	// AllowedHosts, each host or host:port as written in the URL, are exempt from the address, port and scheme checks.
	// They are for development.
	AllowedHosts   []string
	Own            []netip.Addr                // addresses of this machine, see OwnAddresses
	Networks       []netip.Prefix              // for NewTrusted: networks of allowed addresses; empty: any
	ConnectTimeout time.Duration               // limit for connecting [5 s]
	TLSTimeout     time.Duration               // [5 s]
	MaxBody        int64                       // maximum bytes of a response body [16 KiB]
	MaxHeader      int64                       // maximum bytes of response headers [256 KiB]
	IdlePerHost    int                         // idle connections [4]
	TLS            func() (*tls.Config, error) // configuration of the next connection; nil: the system's
	Resolver       *net.Resolver               // nil: the system's
}

func (c Config) withDefaults() Config {
	if len(c.Ports) == 0 {
		c.Ports = []int{80, 443}
	}
	c.ConnectTimeout = positive(c.ConnectTimeout, 5*time.Second)
	c.TLSTimeout = positive(c.TLSTimeout, 5*time.Second)
	c.MaxBody = positive(c.MaxBody, 16<<10)
	c.MaxHeader = positive(c.MaxHeader, 256<<10)
	c.IdlePerHost = positive(c.IdlePerHost, 4)
	return c
}

func positive[T int | int64 | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// Client sends guarded HTTP requests. It is safe for concurrent use.
type Client struct {
	http      *http.Client
	transport *http.Transport
	table     *table
	origins   []string // if not nil, the only origins that may be reached
	networks  []netip.Prefix
	allowHTTP bool
	ports     []int
	hosts     []string
	maxBody   int64
}

// New returns a client for URLs from external callers.
func New(cfg Config) *Client {
	return build(cfg.withDefaults(), nil)
}

// NewTrusted returns a client for URLs of trusted services. It reaches only the given origins (scheme://host:port), and
// does not check their addresses unless cfg.Networks is set. Do not pass it URLs from external callers that must not
// reach these origins.
func NewTrusted(origins []string, cfg Config) (*Client, error) {
	list := make([]string, 0, len(origins))
	for _, text := range origins {
		origin, err := ParseOrigin(text)
		if err != nil {
			return nil, fmt.Errorf("internal origin %q: %w", text, err)
		}
		list = append(list, origin)
	}
	return build(cfg.withDefaults(), list), nil
}

func build(cfg Config, origins []string) *Client {
	c := &Client{
		table:     newTable(cfg.Own),
		origins:   origins,
		networks:  cfg.Networks,
		allowHTTP: cfg.AllowHTTP,
		ports:     cfg.Ports,
		maxBody:   cfg.MaxBody,
	}
	for _, h := range cfg.AllowedHosts {
		c.hosts = append(c.hosts, strings.ToLower(h))
	}
	plain := &net.Dialer{Timeout: cfg.ConnectTimeout, KeepAlive: 30 * time.Second, Resolver: cfg.Resolver}
	guarded := &net.Dialer{
		Timeout:        cfg.ConnectTimeout,
		KeepAlive:      30 * time.Second,
		Resolver:       cfg.Resolver,
		ControlContext: c.control,
	}
	c.transport = &http.Transport{
		Proxy:                  nil,
		DialContext:            c.dialer(plain, guarded),
		TLSHandshakeTimeout:    cfg.TLSTimeout,
		MaxResponseHeaderBytes: cfg.MaxHeader,
		DisableCompression:     true, // MaxBody then also limits compressed bodies
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    cfg.IdlePerHost,
		IdleConnTimeout:        60 * time.Second,
		ExpectContinueTimeout:  time.Second,
	}
	if cfg.TLS != nil {
		c.transport.DialTLSContext = encrypted(c.transport.DialContext, cfg.TLS, cfg.TLSTimeout)
	}
	c.http = &http.Client{
		Transport:     c.transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// encrypted returns a dial function that encrypts each new connection with the configuration that config returns at
// that time.
func encrypted(
	dial func(context.Context, string, string) (net.Conn, error), config func() (*tls.Config, error), limit time.Duration,
) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		own, err := config()
		if err != nil {
			return nil, err
		}
		plain, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		own.ServerName = host
		conn := tls.Client(plain, own)
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if err := conn.HandshakeContext(ctx); err != nil {
			_ = plain.Close()
			return nil, err
		}
		return conn, nil
	}
}

// dialer exempts hosts by the name in the URL, never by the resolved address: an external caller's name that points at
// an exempted address is still refused.
func (c *Client) dialer(plain, guarded *net.Dialer) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err == nil && c.origins == nil && c.exempt(host, port) {
			return plain.DialContext(ctx, network, address)
		}
		return guarded.DialContext(ctx, network, address)
	}
}

// control checks every resolved address before it is connected.
func (c *Client) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return refuse("only TCP is allowed")
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return refuse("the host's address cannot be read")
	}
	if c.origins != nil {
		if len(c.networks) > 0 &&
			!slices.ContainsFunc(c.networks, func(p netip.Prefix) bool { return p.Contains(at.Addr().Unmap()) }) {
			return refuse("the internal host's address is outside the internal networks")
		}
		return nil
	}
	if !c.portAllowed(int(at.Port())) {
		return refuse("the URL's port is not allowed")
	}
	return c.table.check(at.Addr())
}

func (c *Client) portAllowed(port int) bool { return slices.Contains(c.ports, port) }

func (c *Client) exempt(host, port string) bool {
	host = strings.ToLower(host)
	return slices.Contains(c.hosts, host) || (port != "" && slices.Contains(c.hosts, net.JoinHostPort(host, port)))
}

// Request is an HTTP request to send. URL must have passed CheckURL of the same client.
type Request struct {
	Method  string
	URL     *url.URL
	Header  http.Header
	Body    []byte
	Timeout time.Duration // limit of the whole exchange, body included
}

// Response is a received response; Truncated is set when the body was cut because of its length, or ended early.
type Response struct {
	Status    int
	Header    http.Header
	Body      []byte // at most MaxBody bytes
	Truncated bool
}

// ErrUnanswered matches errors of a request that was written completely or in part: the receiver may have acted on it.
var ErrUnanswered = errors.New("the request was sent, but no complete response arrived")

// Do sends one request, at most once on the wire. A 3xx is returned like any other status. Refusals match ErrRefused.
// If the receiver may have got the request, the error matches ErrUnanswered. When status and headers arrived but the
// body did not, the response is returned beside the error, with the beginning of the body.
func (c *Client) Do(ctx context.Context, q Request) (*Response, error) {
	q, end := traced(ctx, q)
	response, err := c.do(ctx, q)
	end(response, err)
	return response, err
}

func (c *Client) do(ctx context.Context, q Request) (*Response, error) {
	if _, err := c.CheckURL(q.URL.String()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	raw, err := c.send(ctx, q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = raw.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(raw.Body, c.maxBody+1))
	kept := &Response{Status: raw.StatusCode, Header: raw.Header, Body: body, Truncated: err != nil}
	if int64(len(body)) > c.maxBody {
		kept.Body, kept.Truncated = body[:c.maxBody], true
	}
	if err != nil {
		return kept, fmt.Errorf("read the response: %w: %w", ErrUnanswered, c.explain(err))
	}
	return kept, nil
}

// send retries once if a kept connection was closed before anything was written to it.
func (c *Client) send(ctx context.Context, q Request) (*http.Response, error) {
	for try := 1; ; try++ {
		var reused, written atomic.Bool // written by the transport's goroutine, even after an error
		trace := &httptrace.ClientTrace{
			GotConn:      func(info httptrace.GotConnInfo) { reused.Store(info.Reused) },
			WroteHeaders: func() { written.Store(true) },
		}
		request, err := newRequest(httptrace.WithClientTrace(ctx, trace), q)
		if err != nil {
			return nil, err
		}
		response, err := c.http.Do(request)
		switch {
		case err == nil:
			return response, nil
		case written.Load():
			return nil, fmt.Errorf("%w: %w", ErrUnanswered, c.explain(err))
		case !reused.Load() || try > 1 || ctx.Err() != nil:
			return nil, c.explain(err)
		}
	}
}

// replayKey reports whether a header makes the transport resend a request without a response.
func replayKey(name string) bool { return name == "Idempotency-Key" || name == "X-Idempotency-Key" }

// newRequest returns a request that the transport sends only once. When a kept connection closes after the request was
// written, the transport would resend a GET without a body, and any request with an Idempotency-Key header. A body that
// cannot be read twice prevents the first; the lower-case header name prevents the second (header names are
// case-insensitive on the wire).
func newRequest(ctx context.Context, q Request) (*http.Request, error) {
	var body io.Reader
	if len(q.Body) > 0 {
		body = bytes.NewReader(q.Body)
	}
	request, err := http.NewRequestWithContext(ctx, q.Method, q.URL.String(), body)
	if err != nil {
		return nil, fmt.Errorf("build the request: %w", err)
	}
	for name, values := range q.Header {
		if replayKey(name) {
			name = strings.ToLower(name)
		}
		request.Header[name] = values
	}
	request.Header.Set("Accept-Encoding", "identity")
	if slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace}, q.Method) {
		request.GetBody = nil
		if request.Body == nil {
			request.Body = io.NopCloser(strings.NewReader("")) // empty, so it is not sent
		}
	}
	return request, nil
}

// explain returns the Refusal inside the transport's error, if there is one, otherwise err.
func (c *Client) explain(err error) error {
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return refusal
	}
	return err
}

// Close closes idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }
