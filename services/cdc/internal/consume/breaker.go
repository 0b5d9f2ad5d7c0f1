package consume

import (
	"fmt"
	"sync"

	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// window is the number of recent records per table over which the share of dead letters is computed.
const window = 1000

// breaker stops a table when many of its records become dead letters. The cause is then a changed schema or a defective
// release rather than single malformed records.
type breaker struct {
	limit int // maximum number of dead records in the window; above window: unlimited

	mu     sync.Mutex
	tables map[string]*deaths // guarded by mu
}

// deaths is a ring of a table's last records; true means dead.
type deaths struct {
	ring  [window]bool
	next  int
	total int
	// allowed counts dead records whose dead letters are being written. If they were not counted, concurrent batches
	// of several partitions could exceed the limit together.
	allowed int
}

func newBreaker(percent int) *breaker {
	limit := window + 1
	if percent < 100 { // 100 percent: never stops
		limit = window * percent / 100
	}
	return &breaker{limit: limit, tables: map[string]*deaths{}}
}

// allow returns a fault if these results would exceed the limit of dead records. If it returns nil, count or takeBack
// must follow.
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

// takeBack reverses allow for a batch whose records will be processed again.
func (b *breaker) takeBack(table string, results []outcome.Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of(table).allowed -= countDead(results)
}

// of returns the ring of a table; the caller holds mu.
func (b *breaker) of(table string) *deaths {
	if b.tables[table] == nil {
		b.tables[table] = &deaths{}
	}
	return b.tables[table]
}

// count adds finished results to the window.
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
