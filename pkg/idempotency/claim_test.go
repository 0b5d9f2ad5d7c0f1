package idempotency_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
)

// cutting closes the connection after it has sent the first SETNX, before the response is read.
type cutting struct {
	net.Conn
	cut  *atomic.Bool
	gone bool
}

func (c *cutting) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if bytes.Contains(bytes.ToLower(b), []byte("\r\nnx\r\n")) && c.cut.CompareAndSwap(false, true) {
		c.gone = true
	}
	return n, err
}

func (c *cutting) Read(b []byte) (int, error) {
	if c.gone {
		return 0, io.EOF
	}
	return c.Conn.Read(b)
}

func TestALostAnswerOfTheClaimDoesNotBlockTheRequest(t *testing.T) {
	t.Parallel()
	var cut atomic.Bool
	options := *redistest.Start(t).Client().Options()
	options.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &cutting{Conn: conn, cut: &cut}, err
	}
	client := redis.NewClient(&options)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var w told
	got, _, err := idempotency.NewResponses(client, "rerun").
		Once(ctx, 12, by(authn.ActorLabUser, 77, "k", "body"), lease, w.work)
	if !cut.Load() {
		t.Fatal("nothing was cut")
	}
	if err != nil || len(got) != 1 {
		t.Errorf("%v, %v, executed %d times; want one execution", got, err, w.times.Load())
	}
}

func TestALongExecutionWhoseLeaseEndedIsStored(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	responses := idempotency.NewResponses(client, "rerun")
	var w told
	request := by(authn.ActorLabUser, 77, "k", "body")
	_, _, _ = responses.Once(t.Context(), 12, request, time.Millisecond, func() ([]byte, error) {
		await.True(t, "the end of the lease", func() bool { return len(client.Keys(t.Context(), "*:12:*").Val()) == 1 })
		return w.work()
	})
	if _, replayed, err := responses.Once(t.Context(), 12, request, lease, w.work); err != nil || !replayed {
		t.Errorf("replayed %t, %v, executed %d times", replayed, err, w.times.Load())
	}
}
