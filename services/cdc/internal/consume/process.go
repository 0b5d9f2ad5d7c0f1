package consume

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// finish processes the batch until it is done, and marks it. It returns false if the claim has ended.
func (w *worker) finish(ctx context.Context, batch []change.Record) (finished bool) {
	c := w.c
	ctx, end := c.d.Traces.Batch(ctx, batch)
	defer func() { end(finished) }()
	weight := min(int64(weigh(batch)), c.d.Config.InFlightBytes)
	if c.memory.Acquire(ctx, weight) != nil {
		return false
	}
	defer c.memory.Release(weight)
	table, begin := c.table(batch[0]), c.d.Clock.Now()
	results, attempts, ok := w.apply(ctx, batch)
	if !ok {
		return false
	}
	if !w.deadLetter(ctx, batch, results, attempts) {
		c.breaker.takeBack(table, results)
		return false
	}
	w.claim.Mark(batch[len(batch)-1].Offset + 1)
	w.state.finished(batch[len(batch)-1])
	c.breaker.count(table, results)
	took := c.d.Clock.Now().Sub(begin)
	c.d.Observer.Finished(ctx, table, results, took)
	c.d.Log.DebugContext(ctx, "batch done", "topic", w.claim.Topic, "partition", w.claim.Partition,
		"first_offset", batch[0].Offset, "records", len(batch), "ms", took.Milliseconds())
	return true
}

// apply retries until the sink has processed the batch. It returns false if the claim ended first.
func (w *worker) apply(ctx context.Context, batch []change.Record) ([]outcome.Result, int, bool) {
	sink, table := w.c.d.Sinks[batch[0].Table()], w.c.table(batch[0])
	if sink == nil {
		return skipAll(batch), 1, true
	}
	whole := &parts{batch: batch, size: len(batch)}
	for attempt := 1; ; attempt++ {
		results, err := whole.run(func(part []change.Record) ([]outcome.Result, error) { return w.c.try(ctx, sink, part) })
		if err == nil {
			fault := w.c.breaker.allow(table, results)
			if fault == nil {
				w.recovered(ctx)
				return results, attempt, true
			}
			err, whole.results = fault, nil
		}
		if ctx.Err() != nil {
			return nil, attempt, false
		}
		if attempt == 1 {
			w.c.d.Observer.Failed(table, len(batch))
		}
		if !w.waitOut(ctx, outcome.FaultOf(err), attempt) {
			return nil, attempt, false
		}
		w.c.d.Observer.Retried(table, len(batch))
	}
}

// try applies the batch once. If the sink panics, the records are applied one by one, so that only the record that
// causes the panic becomes a dead letter.
func (c *Consumer) try(ctx context.Context, sink Sink, batch []change.Record) ([]outcome.Result, error) {
	results, err := c.once(ctx, sink, batch)
	var panicked *panicError
	if !errors.As(err, &panicked) {
		return results, err
	}
	if len(batch) == 1 {
		return []outcome.Result{outcome.Died("consumer", "panic", err)}, nil
	}
	results = results[:0]
	for i := range batch {
		one, err := c.try(ctx, sink, batch[i:i+1])
		if err != nil {
			return nil, err
		}
		results = append(results, one...)
	}
	return results, nil
}

func (c *Consumer) once(ctx context.Context, sink Sink, batch []change.Record) (results []outcome.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{kind: fmt.Sprintf("%T", p)}
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, c.d.Config.ApplyTimeout)
	defer cancel()
	results, err = sink.Apply(ctx, batch)
	if err == nil && len(results) != len(batch) {
		err = fmt.Errorf("sink gave %d results for %d records", len(results), len(batch))
	}
	return results, c.inTime(ctx, err, len(batch))
}

// panicError holds only the type of the panic value, because its text could contain values of a row.
type panicError struct{ kind string }

func (p *panicError) Error() string { return "the consumer panicked with a " + p.kind }

// deadLetter writes the dead letters of a batch. It returns false if the claim ended before they were durable.
func (w *worker) deadLetter(ctx context.Context, batch []change.Record, results []outcome.Result, attempts int) bool {
	w.announce(ctx, batch, results)
	for i, result := range results {
		if result.Kind != outcome.Dead {
			continue
		}
		for try := 1; ; try++ {
			err := w.c.d.DeadLetters.Send(ctx, batch[i], result, attempts)
			if err == nil {
				w.recovered(ctx)
				break
			}
			if ctx.Err() != nil {
				return false
			}
			w.c.d.Observer.DeadLetterFailed()
			if !w.waitOut(ctx, outcome.FaultOf(fmt.Errorf("dead letter: %w", err)), try) {
				return false
			}
		}
	}
	return true
}

// announce logs the dead records of a batch, one line per reason.
func (w *worker) announce(ctx context.Context, batch []change.Record, results []outcome.Result) {
	type cause struct{ sink, reason string }
	deaths := map[cause]int{}
	for _, r := range results {
		if r.Kind == outcome.Dead {
			deaths[cause{r.Sink, r.Reason}]++
		}
	}
	for c, n := range deaths {
		first := batch[slices.IndexFunc(results, func(r outcome.Result) bool {
			return r.Kind == outcome.Dead && r.Sink == c.sink && r.Reason == c.reason
		})]
		w.c.d.Log.WarnContext(ctx, "records given up, they become dead letters", "topic", first.Topic, "partition",
			first.Partition, "first_offset", first.Offset, "records", n, "sink", c.sink, "reason", c.reason)
	}
}

func skipAll(batch []change.Record) []outcome.Result {
	results := make([]outcome.Result, len(batch))
	for i := range results {
		results[i] = outcome.Skip("unknown_table")
	}
	return results
}

func weigh(batch []change.Record) int {
	total := 0
	for _, r := range batch {
		total += size(r)
	}
	return total
}
