package consume

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
)

// Claim is one partition for as long as this member owns it.
type Claim struct {
	Topic     string
	Partition int32
	Initial   int64 // the first offset to come, or a negative number when only the broker knows
	// Records is closed when the partition is taken away; what it still holds may be finished or left.
	Records <-chan change.Record
	// Mark records that everything before offset is done.
	Mark func(offset int64)
	// HighWater returns the offset that the next record of the partition will get.
	HighWater func() int64
	// Pause and Resume stop and continue with fetching; records already fetched keep coming.
	Pause, Resume func()
}

// Run processes the claim until its records end or ctx does. Unfinished records stay unmarked and come again, here or
// in another member.
func (c *Consumer) Run(ctx context.Context, claim Claim) {
	w := &worker{c: c, claim: claim, state: c.status.open(claim)}
	defer c.status.close(claim)
	for {
		batch := w.collect(ctx)
		if len(batch) == 0 {
			return
		}
		table := c.table(batch[0])
		c.d.Observer.Consumed(table, len(batch))
		if !w.finish(ctx, batch) {
			c.d.Observer.Returned(table, len(batch))
			return
		}
	}
}

// worker is the state of one running claim.
type worker struct {
	c     *Consumer
	claim Claim
	state *partition
	ahead []change.Record // fetched while a fault was waited out
	ended bool            // Records is closed
}

// collect returns the next batch: what is there, and what comes within the linger. It is empty when there is nothing
// more.
func (w *worker) collect(ctx context.Context) []change.Record {
	first, ok := w.next(ctx)
	if !ok {
		return nil
	}
	w.state.started(first)
	batch, bytes := []change.Record{first}, size(first)
	timer := time.NewTimer(w.c.d.Config.Linger)
	defer timer.Stop()
	for len(batch) < w.c.d.Config.BatchRecords && bytes < w.c.d.Config.BatchBytes {
		record, ok := w.soon(timer.C)
		if !ok {
			break
		}
		batch, bytes = append(batch, record), bytes+size(record)
	}
	return batch
}

func (w *worker) next(ctx context.Context) (change.Record, bool) {
	if len(w.ahead) > 0 {
		return w.pop(), true
	}
	if w.ended {
		return change.Record{}, false
	}
	select {
	case <-ctx.Done():
		return change.Record{}, false
	case record, ok := <-w.claim.Records:
		w.ended = !ok
		return record, ok
	}
}

// soon prefers a record that is there over the end of the linger.
func (w *worker) soon(linger <-chan time.Time) (change.Record, bool) {
	if len(w.ahead) > 0 {
		return w.pop(), true
	}
	if w.ended {
		return change.Record{}, false
	}
	select {
	case record, ok := <-w.claim.Records:
		w.ended = !ok
		return record, ok
	default:
	}
	select {
	case record, ok := <-w.claim.Records:
		w.ended = !ok
		return record, ok
	case <-linger:
		return change.Record{}, false
	}
}

func (w *worker) pop() change.Record {
	record := w.ahead[0]
	w.ahead = w.ahead[1:]
	return record
}

func size(r change.Record) int { return len(r.Key) + len(r.Value) }
