// Package search measures the search of patients on a real index: how fast it answers at a steady rate and at the most
// that the machine gives, alone and through its REST port, and how far up the patient stands who is meant. Beside it
// runs what a first attempt would write: one multi_match over the same fields, through the same client, with the same
// filter and route, with typing errors and without.
//
// Patients, texts and what is right come from services/search/relevance. The index is the platform's own; its documents
// are written in bulk by the pipeline's encoder, and the pipeline itself is then stopped.
package search

import (
	"context"
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
	memory                 time.Duration // of the run at the steady rate over which memory is watched
}

func chosen(quick bool) sizes {
	if quick {
		return sizes{
			patients:     5_000,
			laboratories: 5,
			texts:        10,
			rounds:       2,
			span:         2 * time.Second,
			saturate:     3 * time.Second / 2,
			window:       time.Second,
			windows:      3,
			memory:       4 * time.Second,
		}
	}
	return sizes{
		patients:     200_000,
		laboratories: 20,
		texts:        10,
		rounds:       4,
		span:         15 * time.Second,
		saturate:     10 * time.Second,
		window:       5 * time.Second,
		windows:      12,
		memory:       5 * time.Minute,
	}
}

const (
	ratePerSecond = 200
	callers       = 16   // at full load
	lap           = 4096 // searches that they make again and again
	pageSize      = 10   // the service's default
)

// Run measures how fast searches are.
func Run(ctx context.Context, r *report.Report) error {
	return with(ctx, r, func(b *bench) (err error) {
		if b.mix, err = newMix(b.corpus.texts); err != nil {
			return err
		}
		for _, step := range []func(context.Context) error{b.warm, b.steady, b.saturation, b.rest, b.memory} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		for _, s := range []*side{b.ours, b.peer, b.plain, b.remote} {
			r.Correct(s.name+"_answers_judged", s.answered.Load())
			r.Correct(s.name+"_given_up", s.late.Load())
			r.Correct(s.name+"_without_the_one_who_is_meant", s.missed.Load())
		}
		return nil
	})
}

// steady measures latency at 200 searches a second, counted from when each was due.
func (b *bench) steady(ctx context.Context) error {
	var p50s, p99s series
	byKind := times{}
	if err := b.inTurn(func(s *side, round int) error {
		searches := b.mix.draw(uint64(round), int(b.sizes.span.Seconds()*ratePerSecond))
		taken, err := atRate(ctx, searches, ratePerSecond, s.ask)
		if err != nil {
			return err
		}
		p50, p99 := quantile(taken, 50), quantile(taken, 99)
		b.report.Progress(
			"%-12s %d searches at %d a second: p50 %.2f ms, p99 %.2f ms",
			s.name,
			len(taken),
			ratePerSecond,
			p50,
			p99,
		)
		p50s.add(s, p50)
		p99s.add(s, p99)
		if s == b.ours {
			byKind.add(searches, taken)
		}
		return nil
	}); err != nil {
		return err
	}
	byKind.print(b.report)
	b.report.Lower("p50_ms", "ms", p50s.ours, peerName, p50s.peer)
	b.report.Lower("p99_ms", "ms", p99s.ours, peerName, p99s.peer)
	return nil
}

// saturation measures how many searches a second are answered when everybody asks again at once, and what one costs the
// engine and this process: to build the request, to send it, to read the answer and to say why each hit was found.
func (b *bench) saturation(ctx context.Context) error {
	var rates, cpus, mine series
	if err := b.inTurn(func(s *side, round int) error {
		before, err := b.cpu()
		if err != nil {
			return err
		}
		done, err := closed(ctx, b.mix.draw(uint64(round), lap), b.sizes.saturate, s.ask)
		if err != nil {
			return err
		}
		after, err := b.cpu()
		each := func(spent time.Duration) float64 { return float64(spent.Microseconds()) / float64(max(1, done)) }
		rate := float64(done) / b.sizes.saturate.Seconds()
		engine, own := each(after.engine-before.engine), each(after.own-before.own)
		b.report.Progress("%-12s %d callers: %.0f searches a second, %.0f µs of the engine and %.0f µs of this process each",
			s.name, callers, rate, engine, own)
		rates.add(s, rate)
		cpus.add(s, engine)
		mine.add(s, own)
		return err
	}); err != nil {
		return err
	}
	b.report.Higher("saturation_per_second", "1/s", rates.ours, peerName, rates.peer)
	b.report.Lower("engine_cpu_us_per_search", "µs", cpus.ours, peerName, cpus.peer)
	b.report.Lower("service_cpu_us_per_search", "µs", mine.ours, peerName, mine.peer)
	return b.besidePlain(ctx, rates.ours)
}

// besidePlain measures the second peer, which allows no typing errors.
func (b *bench) besidePlain(ctx context.Context, ours []float64) error {
	var rates []float64
	for round := range b.sizes.rounds {
		done, err := closed(ctx, b.mix.draw(uint64(1+round), lap), b.sizes.saturate, b.plain.ask)
		if err != nil {
			return err
		}
		rates = append(rates, float64(done)/b.sizes.saturate.Seconds())
	}
	b.report.Higher("saturation_per_second_beside_plain", "1/s", ours, plainName, rates)
	return nil
}

// inTurn measures both sides, A B B A. Both get the same searches in the same round.
func (b *bench) inTurn(measure func(s *side, round int) error) error {
	rounds := map[*side]int{}
	run := func(s *side) func() (float64, error) {
		return func() (float64, error) {
			rounds[s]++
			return 0, measure(s, rounds[s])
		}
	}
	_, _, err := report.Alternate(b.sizes.rounds, run(b.ours), run(b.peer))
	return err
}

// series are the figures of both sides.
type series struct{ ours, peer []float64 }

func (f *series) add(s *side, value float64) {
	if s.strict {
		f.ours = append(f.ours, value)
	} else {
		f.peer = append(f.peer, value)
	}
}
