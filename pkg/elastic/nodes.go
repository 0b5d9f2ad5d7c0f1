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

// nodeRest is how long a node that gave no answer is passed over. Then one request tries whether it is back.
const nodeRest = 30 * time.Second

// nodes sends each request to the next node of a cluster that is not known to be silent, and to any when all are.
// A request that its caller gave up says nothing about its node. Safe for concurrent use.
type nodes struct {
	pool  http.RoundTripper
	clock clock.Clock
	all   []*node
	next  atomic.Uint64
}

type node struct {
	address *url.URL
	rests   atomic.Int64 // until when it is passed over, Unix nanoseconds; 0: it answers
}

func (c *nodes) RoundTrip(request *http.Request) (*http.Response, error) {
	chosen := c.choose()
	there := request.Clone(request.Context())
	there.URL.Scheme, there.URL.Host = chosen.address.Scheme, chosen.address.Host
	response, err := c.pool.RoundTrip(there)
	switch {
	case err == nil:
		chosen.rests.Store(0)
	case !errors.Is(request.Context().Err(), context.Canceled):
		chosen.rests.Store(c.clock.Now().Add(nodeRest).UnixNano())
	}
	return response, err
}

func (c *nodes) choose() *node {
	now, count := c.clock.Now(), uint64(len(c.all))
	first := c.next.Add(1)
	for i := range count {
		n := c.all[(first+i)%count]
		rests := n.rests.Load()
		if rests == 0 || rests <= now.UnixNano() && n.rests.CompareAndSwap(rests, now.Add(nodeRest).UnixNano()) {
			return n
		}
	}
	return c.all[first%count]
}
