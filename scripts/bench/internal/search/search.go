// Package search measures the search of patients on a real index: how fast it answers at a steady rate and at the most that the
// machine gives, alone and through its REST port, and how far up the patient stands who is meant. Beside it runs what a first
// attempt would write: one multi_match over the same fields, through the same client, with the same filter and route.
//
// Patients, texts and what is right come from services/search/relevance. The index is the platform's own; its documents are
// written in bulk by the pipeline's encoder, and the pipeline itself is then stopped.
package search

import (
	"context"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/report"
)

// sizes are how much is measured.
type sizes struct {
	patients, laboratories int
	texts                  int // of each kind and laboratory
	rounds                 int
	span                   time.Duration // of one run at the steady rate
	saturate               time.Duration // of one run at full load
	window                 time.Duration // of warming up, repeated until stable
	windows                int           // at most
}

func chosen(quick bool) sizes {
	if quick {
		return sizes{patients: 10_000, laboratories: 5, texts: 10, rounds: 2, span: 3 * time.Second, saturate: 2 * time.Second, window: time.Second, windows: 4}
	}
	return sizes{patients: 200_000, laboratories: 20, texts: 10, rounds: 4, span: 20 * time.Second, saturate: 10 * time.Second, window: 5 * time.Second, windows: 12}
}

const (
	ratePerSecond = 200
	callers       = 16 // at full load
	pageSize      = 10 // the service's default
)

// Run measures how fast searches are.
func Run(ctx context.Context, r *report.Report) error {
	return with(ctx, r, func(b *bench) error {
		for _, step := range []func(context.Context) error{b.warm, b.steady, b.saturation, b.rest} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		r.Correct("searches_judged", b.verdict.judged.Load())
		r.Correct("searches_given_up", b.verdict.late.Load())
		r.Correct("meant_but_not_on_the_first_page", b.verdict.missed.Load())
		return nil
	})
}

// steady measures latency at 200 searches a second, counted from when each was due.
func (b *bench) steady(ctx context.Context) error {
	var p50s, p99s, cpus series
	measure := func(side string, round int, find finder, judge judge) error {
		before, err := b.engineCPU()
		if err != nil {
			return err
		}
		searches := b.mix.draw(uint64(round), int(b.sizes.span.Seconds()*ratePerSecond))
		taken, err := atRate(ctx, searches, ratePerSecond, b.verdict.judging(find, judge))
		if err != nil {
			return fmt.Errorf("%s: %w", side, err)
		}
		after, err := b.engineCPU()
		p50, p99 := quantile(taken, 50), quantile(taken, 99)
		b.report.Progress("%-5s %d searches at %d/s: p50 %.2f ms, p99 %.2f ms", side, len(taken), ratePerSecond, p50, p99)
		p50s.add(side, p50)
		p99s.add(side, p99)
		cpus.add(side, float64((after-before).Microseconds())/float64(len(taken)))
		return err
	}
	if err := b.inTurn(measure); err != nil {
		return err
	}
	b.report.Lower("p50_ms", "ms", p50s.ours, peerName, p50s.peer)
	b.report.Lower("p99_ms", "ms", p99s.ours, peerName, p99s.peer)
	b.report.Lower("engine_cpu_us_per_search", "µs", cpus.ours, peerName, cpus.peer)
	return nil
}

// saturation measures how many searches a second are answered when everybody asks again at once.
func (b *bench) saturation(ctx context.Context) error {
	var rates series
	measure := func(side string, round int, find finder, judge judge) error {
		done, err := closed(ctx, b.mix.draw(uint64(round), 4096), b.sizes.saturate, b.verdict.judging(find, judge))
		if err != nil {
			return fmt.Errorf("%s: %w", side, err)
		}
		rate := float64(done) / b.sizes.saturate.Seconds()
		b.report.Progress("%-5s %d callers: %.0f searches a second", side, callers, rate)
		rates.add(side, rate)
		return nil
	}
	if err := b.inTurn(measure); err != nil {
		return err
	}
	b.report.Higher("saturation_per_second", "1/s", rates.ours, peerName, rates.peer)
	return nil
}

// series are the figures of both sides.
type series struct{ ours, peer []float64 }

func (s *series) add(side string, value float64) {
	if side == oursSide {
		s.ours = append(s.ours, value)
	} else {
		s.peer = append(s.peer, value)
	}
}

const (
	oursSide = "ours"
	peerSide = "peer"
)

// inTurn measures both sides, A B B A.
func (b *bench) inTurn(measure func(side string, round int, find finder, judge judge) error) error {
	oursRound, peerRound := 0, 0
	_, _, err := report.Alternate(b.sizes.rounds, func() (float64, error) {
		oursRound++
		return 0, measure(oursSide, oursRound, b.ours, b.verdict.ours)
	}, func() (float64, error) {
		peerRound++
		return 0, measure(peerSide, peerRound, b.peer, b.verdict.peer)
	})
	return err
}
