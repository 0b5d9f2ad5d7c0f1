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
	tripAfter = 5 // searches in a row that the engine does not answer
	// restFor is how long nothing is asked then. Behind that, one search at a time tries whether the engine is back.
	restFor = time.Second
	// downAfter is how many probes are not answered before the service is not ready, as package httpserver has it.
	downAfter = 2
)

// breaker keeps searches from an engine that is known to be down: anyone who waits at a counter is told at once, and an
// engine that recovers is not met by all who waited. Safe for concurrent use.
type breaker struct {
	clock clock.Clock

	mu     sync.Mutex
	failed int       // guarded by mu; in a row
	until  time.Time // guarded by mu; when the next search may try
	silent int       // guarded by mu; probes in a row that were not answered
}

var errResting = fmt.Errorf("the last %d searches were not answered: nothing is asked for %s", tripAfter, restFor)

// probed learns from a probe of readiness. After downAfter of them nothing is asked until one is answered: a search of
// an engine that is frozen would wait for its whole time.
func (b *breaker) probed(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var refused *elastic.Error // there is an engine, which may still answer searches
	if err == nil || errors.As(err, &refused) {
		b.silent = 0
		return
	}
	b.silent++
}

var errDown = fmt.Errorf("the last %d probes of the index were not answered", downAfter)

// admit reports whether a search may be sent.
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
	b.until = now.Add(restFor) // for the others, while this one tries
	return nil
}

// note learns from the outcome of a search. One that its caller gave up tells nothing.
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

// answered reports whether the engine is there, whatever it thinks of the search. An overloaded one refuses
// quickly, and is asked on.
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
