package reconcile

import (
	"context"
	"sync"

	"github.com/labplatform/labplatform/pkg/authn"
)

// Observer hears of the loop's work, for metrics.
type Observer interface {
	// Compared tells of one laboratory. Every kind of the differences has been sent for repair.
	Compared(result Result)
}

// Loop compares and repairs one laboratory after the other, a turn at a time.
type Loop struct {
	Reconciler *Reconciler
	Observer   Observer

	mu   sync.Mutex
	last int64 // guarded by mu; the laboratory of the last turn
}

// RunOnce takes the next laboratory. One that fails is passed over until its next turn: one broken laboratory must not
// keep the others from theirs. The error is a fault.
func (l *Loop) RunOnce(ctx context.Context) error {
	labs, err := l.Reconciler.Labs(ctx)
	if err != nil || len(labs) == 0 {
		return err
	}
	result, err := l.Reconciler.Compare(ctx, l.turn(labs), func(Count) {})
	if err != nil {
		return err
	}
	if err := l.Reconciler.Repair(ctx, result.Differences); err != nil {
		return err
	}
	l.Observer.Compared(result)
	return nil
}

// turn returns the laboratory with the smallest id above the last one's, or the first.
func (l *Loop) turn(labs []authn.LabScope) authn.LabScope {
	l.mu.Lock()
	defer l.mu.Unlock()
	next, smallest := authn.LabScope{}, labs[0]
	for _, lab := range labs {
		if lab.LabID() > l.last && (next.LabID() == 0 || lab.LabID() < next.LabID()) {
			next = lab
		}
		if lab.LabID() < smallest.LabID() {
			smallest = lab
		}
	}
	if next.LabID() == 0 {
		next = smallest
	}
	l.last = next.LabID()
	return next
}
