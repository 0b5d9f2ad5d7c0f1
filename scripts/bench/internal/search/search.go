// Package search measures the search of patients on a real index: how fast it answers at a steady rate and at the most
// that the machine gives, alone and through its REST port, and how far up the patient stands who is meant. Beside it
// runs what a first attempt would write: one multi_match over the same fields, through the same client, with the same
// filter and route, with typing errors and without.
//
// Patients, texts and what is right come from pkg/testkit/relevance. The index is the platform's own; its documents
// are written in bulk by the pipeline's encoder, and the pipeline itself is then stopped.
package search

import (
	"context"
	"slices"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/report"
)

// sizes are how much is measured.
type sizes struct {
	patients, laboratories int
	large                  int // patients of one laboratory, measured with as many and with twice as many
	texts                  int // of each kind and laboratory
	rounds                 int
	span                   time.Duration // of one run at the steady rate
	fuzzySpan              time.Duration // of the fuzzy peer's: it cannot hold the rate, and its queue has to end
	saturate               time.Duration // of one run at full load
	window                 time.Duration // of warming up, repeated until stable
	least, windows         int           // how many of them at least, and at most
	memory                 time.Duration // of the run at the steady rate over which memory is watched
}

// chosen spends much of a run on warming up: the engine's compiler needs as long for few patients as for many, and
// seems to rest on its way.
func chosen(quick bool) sizes {
	if quick {
		return sizes{
			patients:     3_000,
			large:        3_000,
			laboratories: 5,
			texts:        10,
			rounds:       2,
			span:         time.Second,
			fuzzySpan:    100 * time.Millisecond,
			saturate:     time.Second,
			window:       time.Second,
			least:        3,
			windows:      3,
			memory:       2 * time.Second,
		}
	}
	return sizes{
		patients:     200_000,
		large:        1_000_000,
		laboratories: 20,
		texts:        10,
		rounds:       4,
		span:         15 * time.Second,
		fuzzySpan:    15 * time.Second,
		saturate:     10 * time.Second,
		window:       5 * time.Second,
		least:        10,
		windows:      16,
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
		b.corpus = nil // the collector would go through 200,000 patients that no search of ours holds
		for _, step := range []func(context.Context) error{
			b.cold, b.warm, b.steady, b.saturation, b.rest, b.memory, b.oneLaboratory,
		} {
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
	p50s, p99s, byKind := series{}, series{}, times{}
	if err := b.inTurn(func(s *side, round int) error {
		span := b.sizes.span
		if s == b.peer {
			span = b.sizes.fuzzySpan
		}
		searches := b.mix.draw(uint64(round), int(span.Seconds()*ratePerSecond))
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
		p50s[s], p99s[s] = append(p50s[s], p50), append(p99s[s], p99)
		if s == b.ours {
			byKind.add(searches, taken)
		}
		return nil
	}); err != nil {
		return err
	}
	byKind.print(b.report)
	for _, of := range []struct {
		metric string
		series series
	}{{"p50_ms", p50s}, {"p99_ms", p99s}} {
		b.report.Lower(of.metric, "ms", of.series[b.ours], peerName, of.series[b.peer])
		b.report.Lower(of.metric+"_beside_plain", "ms", of.series[b.ours], plainName, of.series[b.plain])
	}
	return nil
}

// saturation measures how many searches a second are answered when everybody asks again at once, and what one costs the
// engine and this process: to build the request, to send it, to read the answer and to say why each hit was found.
func (b *bench) saturation(ctx context.Context) error {
	rates, cpus, mine := series{}, series{}, series{}
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
		rates[s], cpus[s], mine[s] = append(rates[s], rate), append(cpus[s], engine), append(mine[s], own)
		return err
	}); err != nil {
		return err
	}
	for _, peer := range []struct {
		side         *side
		name, beside string
	}{{b.peer, peerName, ""}, {b.plain, plainName, "_beside_plain"}} {
		b.report.Higher("saturation_per_second"+peer.beside, "1/s", rates[b.ours], peer.name, rates[peer.side])
		b.report.Lower("engine_cpu_us_per_search"+peer.beside, "µs", cpus[b.ours], peer.name, cpus[peer.side])
		b.report.Lower("service_cpu_us_per_search"+peer.beside, "µs", mine[b.ours], peer.name, mine[peer.side])
	}
	return nil
}

// inTurn measures all sides, A B C C B A, so that a machine that gets slower or faster meanwhile treats them alike.
// They get the same searches in the same round.
func (b *bench) inTurn(measure func(s *side, round int) error) error {
	sides := []*side{b.ours, b.peer, b.plain}
	for round := range b.sizes.rounds {
		for _, s := range sides {
			if err := measure(s, 1+round); err != nil {
				return err
			}
		}
		slices.Reverse(sides)
	}
	return nil
}

// series are the figures of each side.
type series map[*side][]float64
