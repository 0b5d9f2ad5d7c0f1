package elastic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/elastic"
)

const (
	tripAfter = 5 // consecutive searches without a response
	// restFor is how long no search is sent after that. Then one search at a time tests whether the engine has recovered.
	restFor = time.Second
	// downAfter is the number of failed probes after which the service is not ready, as in package httpserver.
	downAfter = 2
)

// breaker is a circuit breaker: while the engine is down, it rejects searches immediately. Users do not wait, and a
// recovering engine is not flooded. Its methods may be called from several goroutines.
type breaker struct {
	clock clock.Clock

	mu     sync.Mutex
	failed int       // guarded by mu; consecutive failures
	until  time.Time // guarded by mu; when the next search may be sent
	silent int       // guarded by mu; consecutive probes without a response
}

var errResting = fmt.Errorf("the last %d searches were not answered: nothing is asked for %s", tripAfter, restFor)

// probed records the result of a readiness probe. After downAfter failures, no search is sent until a probe succeeds,
// because a search in a hanging engine would wait until its timeout.
func (b *breaker) probed(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var refused *elastic.Error // the engine responded, so it may still execute searches
	if err == nil || errors.As(err, &refused) {
		b.silent = 0
		return
	}
	b.silent++
}

var errDown = fmt.Errorf("the last %d probes of the index were not answered", downAfter)

// admit returns an error if no search may be sent at present.
func (b *breaker) admit() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.silent >= downAfter {
		return errDown
	}
	if b.failed < tripAfter {
		return nil
	}
	now := b.clock.Now()
	if now.Before(b.until) {
		return errResting
	}
	b.until = now.Add(restFor) // other searches wait while this one tests the engine
	return nil
}

// note records the result of a search, unless the caller cancelled it.
func (b *breaker) note(ctx context.Context, err error) {
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if answered(err) {
		b.failed = 0
		return
	}
	b.failed++
	b.until = b.clock.Now().Add(restFor)
}

// answered reports whether the engine responded, even with an error. An overloaded engine counts as responding, because
// it rejects requests quickly.
func answered(err error) bool {
	if err == nil {
		return true
	}
	var refused *elastic.Error
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false
	}
	return true
}
