package ratelimit

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
)

// Local counts in the memory of one process. Per key it keeps at most limit entries, and only within the window.
type Local struct {
	clock clock.Clock

	mu       sync.Mutex          // guards the fields below
	subjects map[subject][]entry // oldest first
	tidied   time.Time
	next     uint64 // id of the next entry
}

type subject struct {
	key    string
	window time.Duration
}

type entry struct {
	id uint64
	at time.Time
}

// NewLocal returns a limiter for this process.
func NewLocal(c clock.Clock) *Local {
	return &Local{clock: c, subjects: map[subject][]entry{}, tidied: c.Now()}
}

// Allow allows an attempt of key if fewer than limit were allowed within window.
func (l *Local) Allow(_ context.Context, key string, limit int, window time.Duration) (Decision, error) {
	if err := check(limit, window); err != nil {
		return Decision{}, err
	}
	decision, _ := l.take(subject{key, window}, limit)
	return decision, nil
}

// take counts an attempt like Allow, and also returns the id of its entry, which giveBack removes.
func (l *Local) take(s subject, limit int) (Decision, uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	l.tidy(now, s.window)
	passed := within(l.subjects[s], now, s.window)
	if len(passed) >= limit {
		l.subjects[s] = passed
		return Decision{RetryAfter: s.window - now.Sub(passed[len(passed)-limit].at)}, 0
	}
	l.next++
	l.subjects[s] = append(passed, entry{l.next, now})
	return Decision{Allowed: true, Remaining: limit - len(passed) - 1}, l.next
}

// giveBack removes an entry whose attempt the shared limiter has refused.
func (l *Local) giveBack(s subject, id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subjects[s] = slices.DeleteFunc(l.subjects[s], func(e entry) bool { return e.id == id })
}

// tidy removes subjects without entries in their window, at most once per window.
func (l *Local) tidy(now time.Time, window time.Duration) {
	if now.Sub(l.tidied) < window {
		return
	}
	l.tidied = now
	for s, passed := range l.subjects {
		if len(within(passed, now, s.window)) == 0 {
			delete(l.subjects, s)
		}
	}
}

// within returns the entries less than a window old.
func within(passed []entry, now time.Time, window time.Duration) []entry {
	for len(passed) > 0 && now.Sub(passed[0].at) >= window {
		passed = passed[1:]
	}
	return passed
}
