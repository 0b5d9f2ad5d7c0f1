package consume

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
)

// Claim is one partition while this process owns it.
type Claim struct {
	Topic     string
	Partition int32
	Initial   int64 // offset of the first record; negative if only the broker can tell
	// Records is closed when the partition is revoked. Records still in it may be processed or dropped.
	Records <-chan change.Record
	// Mark declares that all records before offset are done.
	Mark func(offset int64)
	// HighWater returns the offset that the next record of the partition will get.
	HighWater func() int64
	// Pause and Resume stop and restart fetching. Records that were fetched already still arrive.
	Pause, Resume func()
}

// Run processes the claim until its records or ctx end. Unfinished records stay unmarked and are delivered again, to
// this process or another one.
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
	ahead []change.Record // records received during the wait after a fault
	ended bool            // Records is closed
}

// collect returns the next batch: the available records, and further ones that arrive within the linger time. It is
// empty when the claim has ended.
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

// soon returns the next record if it arrives before linger ends. An available record is returned even after that.
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
