package elastic

import "sync"

// Repeats are a share of what is asked, with a few in reserve: when every call fails, repeating all of them would
// multiply the load of an engine that has too much already.
const (
	budgetShare   = 0.1
	budgetReserve = 10
)

// budget says how many calls may be repeated. Safe for concurrent use.
type budget struct {
	mu   sync.Mutex
	left float64 // guarded by mu
}

func newBudget() *budget { return &budget{left: budgetReserve} }

// called notes one call.
func (b *budget) called() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = min(budgetReserve, b.left+budgetShare)
}

// take allows one repeat, or refuses it.
func (b *budget) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// giveBack undoes a take: nothing was repeated.
func (b *budget) giveBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = min(budgetReserve, b.left+1)
}
