package consume

import (
	"fmt"
	"sync"

	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// window is over how many of a table's last records the share of dead ones is judged.
const window = 1000

// breaker stops a table whose records die in numbers: that is a schema that changed, or a release that is wrong, and
// not poison.
type breaker struct {
	limit int // dead records of the window that are too many; above window: never

	mu     sync.Mutex
	tables map[string]*deaths // guarded by mu
}

// deaths is a ring of the last records: true for a dead one.
type deaths struct {
	ring  [window]bool
	next  int
	total int
	// allowed are dead records of other partitions' batches that are on their way: without them all partitions would pass
	// at once.
	allowed int
}

func newBreaker(percent int) *breaker {
	limit := window + 1
	if percent < 100 { // percent
		limit = window * percent / 100
	}
	return &breaker{limit: limit, tables: map[string]*deaths{}}
}

// allow returns a fault when these results would make too many dead records. Otherwise count or withdraw must follow.
func (b *breaker) allow(table string, results []outcome.Result) *outcome.Fault {
	dead := countDead(results)
	if dead == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.of(table)
	if d.total+d.allowed+dead <= b.limit {
		d.allowed += dead
		return nil
	}
	dead += d.total + d.allowed
	return &outcome.Fault{
		Operator: true,
		Err:      fmt.Errorf("%d of the last %d records of %s cannot be processed", min(dead, window), window, table),
		Advice:   "compare the newest letters in cdc.dead-letter-queue: a column or the mapping has changed; fix that, or let the letters pass with CDC_DEAD_LETTER_LIMIT_PERCENT=100",
	}
}

// takeBack undoes what allow allowed: the records will come again.
func (b *breaker) takeBack(table string, results []outcome.Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of(table).allowed -= countDead(results)
}

// of is called with mu held.
func (b *breaker) of(table string) *deaths {
	if b.tables[table] == nil {
		b.tables[table] = &deaths{}
	}
	return b.tables[table]
}

// count notes results that are done.
func (b *breaker) count(table string, results []outcome.Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.of(table)
	d.allowed -= countDead(results)
	for _, r := range results {
		if d.ring[d.next] {
			d.total--
		}
		d.ring[d.next] = r.Kind == outcome.Dead
		if d.ring[d.next] {
			d.total++
		}
		d.next = (d.next + 1) % window
	}
}

func countDead(results []outcome.Result) int {
	n := 0
	for _, r := range results {
		if r.Kind == outcome.Dead {
			n++
		}
	}
	return n
}
