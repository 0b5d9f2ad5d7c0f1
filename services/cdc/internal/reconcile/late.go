package reconcile

import (
	"context"
	"sync"

	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
)

const (
	lateRounds = 3       // how often a patient is computed again
	lateLimit  = 100_000 // patients; the loop over all laboratories finds the others
)

// Late keeps patients whose sources stayed behind their events, and computes them again a few times. It does not
// survive the process: what is lost with it is found by the loop over all laboratories. Safe for concurrent use.
type Late struct {
	mu     sync.Mutex
	rounds map[int64]int // guarded by mu; rounds that are left
}

// Add implements materialize.Late.
func (l *Late) Add(userIDs []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rounds == nil {
		l.rounds = map[int64]int{}
	}
	for _, id := range userIDs {
		if _, known := l.rounds[id]; known || len(l.rounds) < lateLimit {
			l.rounds[id] = lateRounds
		}
	}
}

// Waiting returns how many patients are kept.
func (l *Late) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.rounds)
}

// RunOnce computes all that are kept. After a fault they are kept for the next time.
func (l *Late) RunOnce(ctx context.Context, users Users) error {
	l.mu.Lock()
	var targets []materialize.Target
	for id := range l.rounds {
		targets = append(targets, materialize.Target{UserID: id})
	}
	l.mu.Unlock()
	if len(targets) == 0 {
		return nil
	}
	if _, err := users.Recompute(ctx, targets); err != nil {
		return err //nolint:wrapcheck // a fault as it is
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range targets {
		if l.rounds[t.UserID]--; l.rounds[t.UserID] <= 0 {
			delete(l.rounds, t.UserID)
		}
	}
	return nil
}
