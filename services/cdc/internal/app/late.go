package app

import (
	"context"
	"slices"
	"sync"

	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
)

// lateList holds patients whose sources had not shown what their events told when the batch could wait no longer. It is lost with the
// process; the reconciler finds what it held.
type lateList struct {
	mu  sync.Mutex
	ids map[int64]struct{} // guarded by mu
}

// Add implements materialize.Late.
func (l *lateList) Add(userIDs []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ids == nil {
		l.ids = map[int64]struct{}{}
	}
	for _, id := range userIDs {
		l.ids[id] = struct{}{}
	}
}

// take empties the list.
func (l *lateList) take() []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := make([]int64, 0, len(l.ids))
	for id := range l.ids {
		ids = append(ids, id)
	}
	clear(l.ids)
	slices.Sort(ids)
	return ids
}

// RunOnce computes the patients on the list once more. By now their rows are readable, or were changed again.
func (l *lateList) RunOnce(ctx context.Context, users materialize.Users) error {
	ids := l.take()
	if len(ids) == 0 {
		return nil
	}
	targets := make([]materialize.Target, len(ids))
	for i, id := range ids {
		targets[i].UserID = id
	}
	if _, err := users.Recompute(ctx, targets); err != nil {
		l.Add(ids)
		return err //nolint:wrapcheck // a fault already
	}
	return nil
}
