package indexsync

import (
	"context"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
)

// LookupEvery is how old the knowledge of where to write may be. A rebuild that waits twice as long after it made a
// second target knows: whoever does not write there works on events from before.
const LookupEvery = 2 * time.Second

// Lookup tells where operations go.
type Lookup interface {
	// Targets returns the aliases to write, in that order; the last one is where searches read. The error is a fault.
	Targets(ctx context.Context) ([]string, error)
}

// targets remembers a lookup for a while.
type targets struct {
	lookup Lookup
	clock  clock.Clock

	mu    sync.Mutex
	names []string  // guarded by mu; nil: not known
	read  time.Time // guarded by mu; before the lookup was sent
}

// get returns the targets as of at most LookupEvery ago.
func (t *targets) get(ctx context.Context) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	if t.names != nil && now.Sub(t.read) < LookupEvery {
		return t.names, nil
	}
	names, err := t.lookup.Targets(ctx)
	if err != nil {
		t.names = nil
		return nil, err //nolint:wrapcheck // a fault as it is
	}
	t.names, t.read = names, now
	return names, nil
}

// forget makes the next get ask again.
func (t *targets) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names = nil
}
