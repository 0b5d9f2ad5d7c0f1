package indexsync

import (
	"context"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
)

// LookupEvery is how old the knowledge of where to write may be. A rebuild that waits twice as long after it made a
// second target knows: a process that does not write there works on events from before.
const LookupEvery = 2 * time.Second

// Target is an index to write.
type Target struct {
	Alias  string
	Index  string // behind the alias; of the one that a rebuild fills only
	Schema int
}

// Lookup tells where operations go.
type Lookup interface {
	// Targets returns what to write, in that order; the last one is where searches read, the one before it is what a
	// rebuild fills. The error is a fault.
	Targets(ctx context.Context) ([]Target, error)
	// GiveUpNext keeps an index that a rebuild fills from ever being searched: it lacks something. The error is a fault.
	GiveUpNext(ctx context.Context, index string) error
}

// targets caches a lookup.
type targets struct {
	lookup Lookup
	clock  clock.Clock

	mu    sync.Mutex
	known []Target  // guarded by mu; nil: not known
	read  time.Time // guarded by mu; before the lookup was sent
}

// get returns the targets as of at most LookupEvery ago.
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

// forget makes the next get ask again.
func (t *targets) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = nil
}
