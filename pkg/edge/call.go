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

// sendTimeout is how long an answer may take on its way out.
const sendTimeout = 30 * time.Second

// call is what the edge remembers of one request: who answers it, by which route, with which status.
type call struct {
	http.ResponseWriter
	area   *Area
	route  string // the path pattern; empty when no route matched
	status int
	body   *requestBody // nil: the request has none
}

type callKey struct{}

func callFrom(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// WriteHeader notes the status. From here on a caller that does not read is cut off.
func (c *call) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
		httpserver.AnswerWithin(c.ResponseWriter, sendTimeout)
		if c.body != nil && !c.body.done && c.body.err == nil {
			httpserver.SkipBody(c.ResponseWriter)
		}
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write notes the implied 200.
func (c *call) Write(b []byte) (int, error) {
	if c.status == 0 {
		c.WriteHeader(http.StatusOK)
	}
	return c.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (c *call) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// noteRoute keeps the path pattern that the mux matched.
func noteRoute(ctx context.Context) {
	if c := callFrom(ctx); c != nil && c.route == "" {
		c.route, _ = runtime.HTTPPathPattern(ctx)
	}
}

// requestBody limits a body and keeps why it could not be read or decoded: the generated handlers reduce
// every such error to text.
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

// keepError is the codec's decoder with its error kept on the body.
func keepError(body io.Reader, decode func(any) error) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		err := decode(v)
		if kept, ok := body.(*requestBody); ok && err != nil && !errors.Is(err, io.EOF) {
			kept.err = err
		}
		return err
	})
}
