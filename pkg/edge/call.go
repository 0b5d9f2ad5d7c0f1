package edge

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"

	"github.com/labplatform/labplatform/pkg/httpserver"
)

// sendTimeout limits the time to send a response.
const sendTimeout = 30 * time.Second

// call holds what the edge records about one request, and its response.
type call struct {
	http.ResponseWriter
	area   *Area
	route  string // the path pattern; empty when no route matched
	status int
	reason string       // reason of the error on a matched route
	body   *requestBody // nil if the request has no body
}

type callKey struct{}

func callFrom(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// WriteHeader records the status. From here on, a client that does not read the response is disconnected after
// sendTimeout.
func (c *call) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
		httpserver.SetWriteTimeout(c.ResponseWriter, sendTimeout)
		if c.body != nil && !c.body.done && c.body.err == nil {
			httpserver.SkipBody(c.ResponseWriter)
		}
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write sends the response; without WriteHeader its status is 200.
func (c *call) Write(b []byte) (int, error) {
	if c.status == 0 {
		c.WriteHeader(http.StatusOK)
	}
	return c.ResponseWriter.Write(b)
}

// Unwrap returns the writer of the connection for http.ResponseController.
func (c *call) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// noteRoute records the path pattern that the mux matched.
func noteRoute(ctx context.Context) {
	if c := callFrom(ctx); c != nil && c.route == "" {
		c.route, _ = runtime.HTTPPathPattern(ctx)
	}
}

// requestBody limits a body and keeps the error of reading or decoding it, because the generated handlers reduce every
// such error to text.
type requestBody struct {
	io.ReadCloser
	err   error
	done  bool
	ended func() // called once, when the last byte has arrived
}

var _ io.Reader = (*requestBody)(nil)

func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == nil || b.done:
	case !errors.Is(err, io.EOF):
		b.err = err
	default:
		b.done = true
		b.ended()
	}
	return n, err
}

// keepError wraps decode so that its error is kept in body.
func keepError(body io.Reader, decode func(any) error) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		err := decode(v)
		if kept, ok := body.(*requestBody); ok && err != nil && !errors.Is(err, io.EOF) {
			kept.err = err
		}
		return err
	})
}
