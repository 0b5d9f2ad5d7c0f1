package indexsync

import (
	"context"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
)

// LookupEvery is the maximum age of cached targets. If a rebuild waits for twice this time after creating a second
// target, a process that does not write to that target is only processing events from before its creation.
const LookupEvery = 2 * time.Second

// Target is an index to which changes are written.
type Target struct {
	Alias  string
	Index  string // name of the index behind the alias; set only for an index being rebuilt
	Schema int
}

// Lookup returns the indexes to which changes are written.
type Lookup interface {
	// Targets returns the indexes in the order of writing. The last one is used by searches; the one before it is being
	// filled by a rebuild. The error is a fault.
	Targets(ctx context.Context) ([]Target, error)
	// GiveUpNext ensures that an incomplete index of a rebuild is never searched. The error is an *outcome.Fault.
	GiveUpNext(ctx context.Context, index string) error
}

// targets caches the result of a lookup.
type targets struct {
	lookup Lookup
	clock  clock.Clock

	mu    sync.Mutex
	known []Target  // guarded by mu; nil: no lookup cached
	read  time.Time // guarded by mu; start time of the lookup
}

// get returns targets that are at most LookupEvery old.
func (t *targets) get(ctx context.Context) ([]Target, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	if t.known != nil && now.Sub(t.read) < LookupEvery {
		return t.known, nil
	}
	known, err := t.lookup.Targets(ctx)
	if err != nil {
		t.known = nil
		return nil, err
	}
	t.known, t.read = known, now
	return known, nil
}

// forget discards the cached targets.
func (t *targets) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = nil
}
