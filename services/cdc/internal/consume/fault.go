package consume

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// operatorRetry is the minimum pause between attempts while a fault waits for an operator.
const operatorRetry = 10 * time.Second

// waitOut pauses the partition for the backoff of the attempt. Meanwhile it receives the records already fetched (at
// most one fetch and the claim's buffer), so that it detects the end of the claim. It returns false if the claim has
// ended.
func (w *worker) waitOut(ctx context.Context, fault *outcome.Fault, attempt int) bool {
	if w.state.fail(fault) {
		w.claim.Pause()
		w.log(ctx, fault)
	}
	timer := time.NewTimer(w.backoff(fault, attempt))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case record, ok := <-w.claim.Records:
			if !ok {
				return false
			}
			w.ahead = append(w.ahead, record)
		}
	}
}

// backoff doubles from FirstRetry to MaxRetry. Up to a fifth is subtracted at random, so that partitions do not retry
// at the same time.
func (w *worker) backoff(fault *outcome.Fault, attempt int) time.Duration {
	cfg := w.c.d.Config
	pause := cfg.MaxRetry
	if doublings := attempt - 1; doublings < 16 {
		pause = min(pause, cfg.FirstRetry<<doublings)
	}
	if fault.Operator {
		pause = max(pause, min(operatorRetry, cfg.MaxRetry))
	}
	const spread = 0.2
	return pause - time.Duration(spread*w.c.d.Jitter()*float64(pause))
}

func (w *worker) log(ctx context.Context, fault *outcome.Fault) {
	log := w.c.d.Log.With("topic", w.claim.Topic, "partition", w.claim.Partition, "error", fault.Err)
	if fault.Operator {
		log.ErrorContext(ctx, "partition paused until someone fixes this", "advice", fault.Advice)
		return
	}
	log.WarnContext(ctx, "partition paused, trying again")
}

// recovered resumes the partition if it was paused by a fault.
func (w *worker) recovered(ctx context.Context) {
	if lasted, was := w.state.heal(); was {
		w.claim.Resume()
		w.c.d.Log.InfoContext(ctx, "partition continues", "topic", w.claim.Topic, "partition", w.claim.Partition,
			"paused_seconds", lasted.Seconds())
	}
}
