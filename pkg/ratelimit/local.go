package ratelimit

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
)

// Local counts in the memory of one process: at most the limit's number of times for each subject that was seen within
// its window.
type Local struct {
	clock clock.Clock

	mu       sync.Mutex            // guards what follows
	subjects map[subject][]passing // oldest first
	tidied   time.Time
	next     uint64 // the id of the next passing
}

type subject struct {
	key    string
	window time.Duration
}

type passing struct {
	id uint64
	at time.Time
}

// NewLocal returns a limiter of this process.
func NewLocal(c clock.Clock) *Local {
	return &Local{clock: c, subjects: map[subject][]passing{}, tidied: c.Now()}
}

// Allow lets the attempt of key pass when fewer than limit passed within window.
func (l *Local) Allow(_ context.Context, key string, limit int, window time.Duration) (Decision, error) {
	if err := check(limit, window); err != nil {
		return Decision{}, err
	}
	decision, _ := l.take(subject{key, window}, limit)
	return decision, nil
}

// take decides, and returns the id under which a passing can be given back.
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
	l.subjects[s] = append(passed, passing{l.next, now})
	return Decision{Allowed: true, Remaining: limit - len(passed) - 1}, l.next
}

// giveBack forgets a passing that someone else refused.
func (l *Local) giveBack(s subject, id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subjects[s] = slices.DeleteFunc(l.subjects[s], func(p passing) bool { return p.id == id })
}

// tidy drops subjects that nothing is known of any more, at most once a window.
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

// within returns those that passed less than a window ago.
func within(passed []passing, now time.Time, window time.Duration) []passing {
	for len(passed) > 0 && now.Sub(passed[0].at) >= window {
		passed = passed[1:]
	}
	return passed
}
