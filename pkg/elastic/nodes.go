package elastic

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
)

// nodeRest is the time for which a node that failed is skipped. Then one request tries it again.
const nodeRest = 30 * time.Second

// nodes sends each request to the next node that has not failed recently, or to any node if all have failed. A request
// canceled by its caller does not count as a failure of the node. It is safe for concurrent use.
type nodes struct {
	pool  http.RoundTripper
	clock clock.Clock
	all   []*node
	next  atomic.Uint64
}

type node struct {
	address *url.URL
	skipped atomic.Int64 // end of the time for which the node is skipped, in Unix nanoseconds; 0: not skipped
}

func (c *nodes) RoundTrip(request *http.Request) (*http.Response, error) {
	chosen := c.choose()
	forwarded := request.Clone(request.Context())
	forwarded.URL.Scheme, forwarded.URL.Host = chosen.address.Scheme, chosen.address.Host
	response, err := c.pool.RoundTrip(forwarded)
	switch {
	case err == nil:
		chosen.skipped.Store(0)
	case !errors.Is(request.Context().Err(), context.Canceled):
		chosen.skipped.Store(c.clock.Now().Add(nodeRest).UnixNano())
	}
	return response, err
}

func (c *nodes) choose() *node {
	now, count := c.clock.Now(), uint64(len(c.all))
	first := c.next.Add(1)
	for i := range count {
		n := c.all[(first+i)%count]
		until := n.skipped.Load()
		if until == 0 || until <= now.UnixNano() && n.skipped.CompareAndSwap(until, now.Add(nodeRest).UnixNano()) {
			return n
		}
	}
	return c.all[first%count]
}
