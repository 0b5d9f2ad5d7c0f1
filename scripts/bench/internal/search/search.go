// Package search measures the search of patients on a real index: its speed at a steady rate and at full load, directly
// and through its REST port, and the rank of the expected patient. It is compared with a plain search: one multi_match
// over the same fields, through the same client, with the same filter and route, with and without fuzziness.
//
// Patients, texts and expected results come from pkg/testkit/relevance. The index is the platform's own; its documents
// are written in bulk by the pipeline's encoder, and the pipeline itself is then stopped.
package search

import (
	"context"
	"slices"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/report"
)

// sizes is the amount of work.
type sizes struct {
	patients, laboratories int
	large                  int // patients of one laboratory; measured with this number and with twice as many
	texts                  int // texts of each kind and laboratory
	rounds                 int
	span                   time.Duration // duration of a run at the steady rate
	fuzzySpan              time.Duration // the same for the fuzzy peer, which is too slow: its queue must end
	saturate               time.Duration // duration of a run at full load
	window                 time.Duration // duration of one warm-up, repeated until the rate is stable
	least, windows         int           // minimum and maximum number of warm-ups
	memory                 time.Duration // duration of the run in which memory is measured
}

// chosen returns the sizes. Much of a run is warm-up: the engine's compiler needs as long for few patients as for many.
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
	callers       = 16   // concurrent callers at full load
	lap           = 4096 // number of different searches, which repeat
	pageSize      = 10   // the service's default
)

// Run measures the speed of searches.
func Run(ctx context.Context, r *report.Report) error {
	return with(ctx, r, func(b *bench) (err error) {
		if b.mix, err = newMix(b.corpus.texts); err != nil {
			return err
		}
		b.corpus = nil // otherwise the collector would scan 200,000 patients
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

// steady measures latency at 200 searches per second, from when each was due.
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

// saturation measures searches per second in a closed loop, and the CPU time of one in the engine and in this process,
// which builds and sends the request, decodes the response and grades the hits.
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

// inTurn runs measure for all sides in turn, A B C C B A, so that a machine whose speed changes meanwhile affects them
// equally. All sides get the same searches in a round.
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

// series holds the measured figures of each side, one per round.
type series map[*side][]float64
