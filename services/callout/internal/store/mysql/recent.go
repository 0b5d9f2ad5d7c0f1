package mysql

import (
	"context"
	"sync"
	"time"

	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

const (
	// recentFor is how long a list or a board may use outdated limits. Decisions never use cached formats: they read the
	// formats in their transaction.
	recentFor = 5 * time.Second
	// maxRecent is the maximum number of cached tests, a few KiB each. When it is reached, the cache is emptied.
	maxRecent = 5_000
)

// recent caches the formats with critical limits by test.
type recent struct {
	mu     sync.RWMutex
	byTest map[int64]recentTest // guarded by mu
}

// recentTest holds the formats of one test. It is shared and must not be changed.
type recentTest struct {
	read    time.Time
	formats []callout.Format
}

// recentFormats returns the formats with critical limits of the tests, read at most recentFor ago.
func (s *Store) recentFormats(ctx context.Context, q querier, tests []int64) (callout.Formats, error) {
	now := s.clock.Now()
	found, missing := s.recent.find(tests, now)
	if len(missing) == 0 {
		return found, nil
	}
	read, err := s.formats(ctx, q, missing, criticalFormats)
	if err != nil {
		return nil, err
	}
	s.recent.keep(missing, read, now)
	for test, formats := range read {
		found[test] = formats
	}
	return found, nil
}

func (r *recent) find(tests []int64, now time.Time) (found callout.Formats, missing []int64) {
	found = make(callout.Formats, len(tests))
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, test := range tests {
		one, ok := r.byTest[test]
		switch {
		case !ok || now.Sub(one.read) >= recentFor:
			missing = append(missing, test)
		case len(one.formats) > 0:
			found[test] = one.formats
		}
	}
	return found, missing
}

func (r *recent) keep(tests []int64, formats callout.Formats, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byTest == nil || len(r.byTest)+len(tests) > maxRecent {
		r.byTest = map[int64]recentTest{}
	}
	for _, test := range tests {
		r.byTest[test] = recentTest{now, formats[test]}
	}
}
