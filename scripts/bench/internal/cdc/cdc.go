// Package cdc measures change capture on whole platforms of its own: how fast the consumer works off prepared events,
// its decoder alone, and how long a committed row takes until searches find it.
//
// The events are the real connectors' own: generated patients with their bills and reports are written to MariaDB, both
// connectors and the consumer process them once, and the topics' content is then the backlog of every run.
// Each run begins with an empty user_meta, an empty index and no committed offset, and without Kafka Connect, so that
// nothing is added meanwhile.
package cdc

import (
	"context"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/bench/internal/stack"
)

const laboratories = 20

// sizes is the amount of work. A patient makes about 6.3 events: 1 patient, 1.1 bills, 2.2 reports, and the stub and
// the row of user_meta.
type sizes struct {
	patients int
	rounds   int
	share    int           // the peer processes one event in share of every partition
	warm     time.Duration // duration of the writes before the measured ones
	span     time.Duration // duration of one run of measured writes
	decode   time.Duration // duration of one run of a decoder
}

func chosen(quick bool) sizes {
	if quick {
		return sizes{patients: 2_500, rounds: 2, share: 20, warm: time.Second, span: 2 * time.Second, decode: time.Second}
	}
	return sizes{
		patients: 48_000,
		rounds:   4,
		share:    50,
		warm:     4 * time.Minute, // until the index's compiler no longer takes a third of a core beside these writes
		span:     10 * time.Second,
		decode:   2 * time.Second,
	}
}

type step func(*bench, context.Context) error

// stages are the groups of steps that share a platform. Minutes of writes would warm up the index for one side only, so
// they get a platform of their own; QUICK has time for one platform.
func stages(quick bool) [][]step {
	throughput := []step{(*bench).rest, (*bench).decoders, (*bench).consumers}
	if quick {
		return [][]step{append([]step{(*bench).prepare, (*bench).freshness}, throughput...)}
	}
	return [][]step{{(*bench).prepare, (*bench).freshness}, append([]step{(*bench).prepare}, throughput...)}
}

// Run measures everything about change capture.
func Run(ctx context.Context, r *report.Report) error {
	for _, steps := range stages(r.Quick) {
		if err := measure(ctx, r, steps); err != nil {
			return err
		}
	}
	return nil
}

func measure(ctx context.Context, r *report.Report, steps []step) error {
	s, err := stack.New("LAB_PIPELINE=on", "LAB_SEED=none", "CDC_LOG_LEVEL=WARN")
	if err != nil {
		return err
	}
	defer s.Remove()
	took, err := s.Up(ctx)
	if err != nil {
		return err
	}
	r.Progress("a platform of its own is up after %.1f s", took.Seconds())
	b := &bench{report: r, sizes: chosen(r.Quick), sandbox: s}
	if err := b.open(); err != nil {
		return err
	}
	defer b.close()
	for _, one := range steps {
		if err := one(b, ctx); err != nil {
			return err
		}
	}
	return nil
}

// await calls check every 100 ms until it returns true or limit has passed.
func await(ctx context.Context, what string, limit time.Duration, check func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		done, err := check()
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not happen within %v: %w", what, limit, err)
		case <-tick.C:
		}
	}
}
