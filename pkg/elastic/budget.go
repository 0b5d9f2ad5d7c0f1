package elastic

import "sync"

// Retries may be at most a share of all calls, with a small reserve: when every call fails, retrying all of them would
// multiply the load of an overloaded engine.
const (
	budgetShare   = 0.1
	budgetReserve = 10
)

// budget limits retries to a share of the calls. It is safe for concurrent use.
type budget struct {
	mu   sync.Mutex
	left float64 // guarded by mu
}

func newBudget() *budget { return &budget{left: budgetReserve} }

// called adds one call's share of a retry to the budget.
func (b *budget) called() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = min(budgetReserve, b.left+budgetShare)
}

// take takes one retry from the budget; it returns false if none is left.
func (b *budget) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// giveBack returns a retry that was taken and not used.
func (b *budget) giveBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = min(budgetReserve, b.left+1)
}
