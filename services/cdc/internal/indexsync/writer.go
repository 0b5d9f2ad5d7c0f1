package indexsync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
)

// Index executes operations.
type Index interface {
	// Bulk sends ops in their order to the index behind target and returns the fate of each. The error is a *Refusal if
	// the server rejected the whole request; after any other error, the results are unknown.
	Bulk(ctx context.Context, target string, ops []document.Op) ([]Fate, error)
}

// Observer receives events for metrics.
type Observer interface {
	// Sent counts one request with a response.
	Sent(ops int, took time.Duration)
	// Resent counts operations to be repeated, by the server's error type.
	Resent(ops int, kind string)
}

// WriterConfig holds the limits of requests; embed it with envPrefix "BULK_".
type WriterConfig struct {
	Operations int           `env:"OPERATIONS" envDefault:"1000"`
	Bytes      int           `env:"BYTES" envDefault:"5242880"`
	Concurrent int           `env:"CONCURRENT" envDefault:"4"`
	FirstRetry time.Duration `env:"FIRST_RETRY" envDefault:"100ms"`
	MaxRetry   time.Duration `env:"MAX_RETRY" envDefault:"2s"`
	// Patience is how long operations are repeated before the writer returns an error. It must be shorter than the timeout
	// of one batch attempt.
	Patience time.Duration `env:"PATIENCE" envDefault:"10s"`
}

// Validate rejects limits with which nothing could be sent.
func (c *WriterConfig) Validate() error {
	if c.Operations < 1 || c.Bytes < 1 || c.Concurrent < 1 || c.FirstRetry <= 0 || c.MaxRetry < c.FirstRetry ||
		c.Patience < 0 {
		return errors.New(
			"BULK_OPERATIONS, BULK_BYTES, BULK_CONCURRENT and BULK_FIRST_RETRY must be above zero, BULK_MAX_RETRY at least BULK_FIRST_RETRY, BULK_PATIENCE not negative")
	}
	return nil
}

// WriterDeps are the dependencies of a Writer. Jitter returns a random number from 0 to 1.
type WriterDeps struct {
	Config   WriterConfig
	Index    Index
	Observer Observer
	Clock    clock.Clock
	Jitter   func() float64
}

// Writer sends operations until each has a final result. It is safe for concurrent use; the limit of concurrent
// requests is shared by all users.
type Writer struct {
	d    WriterDeps
	room *semaphore.Weighted // limits concurrent requests
}

// NewWriter returns a Writer with the limits of d.Config.
func NewWriter(d WriterDeps) *Writer {
	return &Writer{d: d, room: semaphore.NewWeighted(int64(d.Config.Concurrent))}
}

// Write sends ops to target and returns the final fate of each, in the order of ops. After an error, some may be
// written and others not; writing the same ops again is safe. The error is a fault (see package outcome) and wraps
// ErrGone if target no longer exists.
func (w *Writer) Write(ctx context.Context, target string, ops []document.Op) ([]Fate, error) {
	fates := make([]Fate, 0, len(ops))
	for len(ops) > 0 {
		n := w.fit(ops)
		some, err := w.finish(ctx, target, ops[:n])
		if err != nil {
			return nil, err
		}
		fates, ops = append(fates, some...), ops[n:]
	}
	return fates, nil
}

// lineBytes is the approximate size of the metadata line before a document.
const lineBytes = 100

// fit returns how many of ops fit into one request; at least one.
func (w *Writer) fit(ops []document.Op) int {
	total := 0
	for i := range ops {
		total += len(ops[i].Body) + lineBytes
		if i > 0 && (i == w.d.Config.Operations || total > w.d.Config.Bytes) {
			return i
		}
	}
	return len(ops)
}

// finish sends operations in one request and repeats those without a final fate until all have one or Patience is
// exceeded.
func (w *Writer) finish(ctx context.Context, target string, ops []document.Op) ([]Fate, error) {
	fates := make([]Fate, len(ops))
	open := make([]int, len(ops)) // positions of operations without a final fate
	for i := range open {
		open[i] = i
	}
	begin := w.d.Clock.Now()
	for attempt := 0; ; attempt++ {
		some, err := w.request(ctx, target, pick(ops, open))
		if err != nil {
			r := refusalOf(err)
			if r.Verdict == Gone || r.Verdict == Broken {
				return nil, faultOf(r.Verdict, r.Kind, r.Advice, r.Err)
			}
			if !w.again(ctx, begin, attempt, len(open), r.Kind) {
				return nil, faultOf(r.Verdict, r.Kind, "", r.Err)
			}
			continue
		}
		if open, err = settle(fates, open, some); err != nil || len(open) == 0 {
			return fates, err
		}
		if left := fates[open[0]]; !w.again(ctx, begin, attempt, len(open), left.Kind) {
			err := fmt.Errorf("%d of %d operations are still refused: %s", len(open), len(ops), left.Kind)
			return nil, faultOf(left.Verdict, left.Kind, "", err)
		}
	}
}

// settle stores fates and returns the positions of the ones that are not final. The error is a fault.
func settle(fates []Fate, open []int, some []Fate) ([]int, error) {
	var still []int
	for i, fate := range some {
		if fate.Verdict == Gone || fate.Verdict == Broken {
			return nil, faultOf(fate.Verdict, fate.Kind, fate.Advice, nil)
		}
		fates[open[i]] = fate
		if !fate.Verdict.Final() {
			still = append(still, open[i])
		}
	}
	return still, nil
}

func pick(ops []document.Op, positions []int) []document.Op {
	if len(positions) == len(ops) {
		return ops
	}
	some := make([]document.Op, len(positions))
	for i, p := range positions {
		some[i] = ops[p]
	}
	return some
}

// again waits before the next attempt. It returns false if Patience is exceeded or ctx has ended.
func (w *Writer) again(ctx context.Context, begin time.Time, attempt, ops int, kind string) bool {
	pause := w.d.Config.MaxRetry
	if attempt < 16 {
		pause = min(pause, w.d.Config.FirstRetry<<attempt)
	}
	pause = time.Duration(float64(pause) * (0.5 + w.d.Jitter()/2))
	if w.d.Clock.Now().Add(pause).Sub(begin) > w.d.Config.Patience {
		return false
	}
	w.d.Observer.Resent(ops, kind)
	return lifecycle.Pause(ctx, pause) == nil
}

// request sends ops within the limit of concurrent requests.
func (w *Writer) request(ctx context.Context, target string, ops []document.Op) ([]Fate, error) {
	if err := w.room.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("wait for a request to end: %w", err)
	}
	defer w.room.Release(1)
	return w.halve(ctx, target, ops)
}

// halve sends ops. A request that is too large, or unreadable because of one operation, is split until that operation
// is alone in its request and gets the fate Poison.
func (w *Writer) halve(ctx context.Context, target string, ops []document.Op) ([]Fate, error) {
	begin := w.d.Clock.Now()
	fates, err := w.d.Index.Bulk(ctx, target, ops)
	if err == nil {
		w.d.Observer.Sent(len(ops), w.d.Clock.Now().Sub(begin))
		return fates, nil
	}
	refusal := refusalOf(err)
	switch {
	case refusal.Cause == Unsaid:
		return nil, err
	case len(ops) == 1:
		return []Fate{{Verdict: Poison, Kind: refusal.Kind}}, nil
	}
	left, err := w.halve(ctx, target, ops[:len(ops)/2])
	if err != nil {
		return nil, err
	}
	right, err := w.halve(ctx, target, ops[len(ops)/2:])
	if err != nil {
		return nil, err
	}
	fates = append(left, right...)
	if refusal.Cause == Malformed && len(fates) >= fewAtFault && allPoison(fates) {
		return nil, &Refusal{
			Verdict: Broken,
			Kind:    refusal.Kind,
			Err:     refusal.Err,
			Advice:  "every single operation is refused: compare the version of Elasticsearch with the one that this program is made for",
		}
	}
	return fates, nil
}

// fewAtFault is the minimum number of consecutive unreadable operations for which the operations themselves are not the
// cause.
const fewAtFault = 8

func allPoison(fates []Fate) bool {
	for _, fate := range fates {
		if fate.Verdict != Poison {
			return false
		}
	}
	return true
}
