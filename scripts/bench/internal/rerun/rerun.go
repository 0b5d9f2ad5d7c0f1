// Package rerun measures POST …/new with a blood count of 30 parameters on a whole stack: requests per second, and the
// p99 of a message at half that load. Every stored value is counted in the document store.
package rerun

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/load"
	"github.com/labplatform/labplatform/scripts/bench/internal/process"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/bench/internal/stack"
)

const (
	parameters  = 30
	connections = 8
)

// Run measures new_values_per_second_30_params (requests to /new, each with 30 values) beside the document store alone,
// new_values_cpu_ms (a message in gateway and service together), and new_values_p99_ms_half_load.
func Run(ctx context.Context, r *report.Report) error {
	rounds, reports := 6, 100
	if r.Quick {
		rounds, reports = 2, 100
	}
	s, err := stack.Start(ctx, r, "RERUN_LOG_LEVEL=WARN", "GATEWAY_LOG_LEVEL=WARN")
	if err != nil {
		return err
	}
	defer s.Remove()
	lab, err := newLaboratory(ctx, s, reports)
	if err != nil {
		return err
	}
	defer lab.close()

	if _, err := lab.round(ctx, closedLoop); err != nil { // warm-up
		return err
	}
	lab.stored = 0
	costs := process.NewCosts(map[string]int{
		"gateway": s.PID("gateway"), "service": s.PID("rerun"), "database": s.PID("mysql"), "documents": s.PID("mongo"),
		"load": os.Getpid(),
	})
	perSecond, peer, err := report.Alternate(rounds, func() (float64, error) {
		elapsed, err := lab.round(ctx, func(ctx context.Context, l *laboratory, first int) error {
			return costs.Of(l.reports, func() error { return closedLoop(ctx, l, first) })
		})
		return float64(reports) / elapsed.Seconds(), err
	}, func() (float64, error) { return lab.storeAlone(ctx) })
	if err != nil {
		return err
	}
	r.Higher("new_values_per_second_30_params", "1/s", perSecond, "inserts of 30 documents into the store alone", peer)
	for _, name := range []string{"documents", "database", "service", "gateway", "load"} {
		r.Lower("new_values_cpu_us_"+name, "µs", costs.Runs[name], "", nil)
	}
	r.Lower("new_values_cpu_ms", "ms", together(costs.Runs["gateway"], costs.Runs["service"]), "", nil)
	return lab.halfLoad(ctx, r, rounds, report.Median(perSecond)/2)
}

// together returns the summed CPU time of two processes in each run, in milliseconds.
func together(a, b []float64) []float64 {
	sums := make([]float64, len(a))
	for i := range a {
		sums[i] = (a[i] + b[i]) / 1000
	}
	return sums
}

// halfLoad sends at half the measured rate and measures each message from the time when it was due.
func (l *laboratory) halfLoad(ctx context.Context, r *report.Report, rounds int, perSecond float64) error {
	var p99, p50 []float64
	for range rounds {
		var taken []time.Duration
		_, err := l.round(ctx, func(ctx context.Context, l *laboratory, first int) (err error) {
			taken, err = load.Paced(l.reports, perSecond, func(i int) error { return l.send(ctx, first+i) })
			return err
		})
		if err != nil {
			return err
		}
		p50, p99 = append(p50, load.Quantile(taken, 0.5)), append(p99, load.Quantile(taken, 0.99))
	}
	r.Lower("new_values_p99_ms_half_load", "ms", p99, "", nil)
	r.Lower("new_values_p50_ms_half_load", "ms", p50, "", nil)
	r.Correct("values_sent", 2*rounds*l.reports*parameters)
	r.Correct("values_stored", l.stored)
	if l.stored != 2*rounds*l.reports*parameters {
		return fmt.Errorf("%d values are stored, not %d", l.stored, 2*rounds*l.reports*parameters)
	}
	return nil
}

// closedLoop sends the values of every report over a few connections in a closed loop.
func closedLoop(ctx context.Context, l *laboratory, first int) error {
	return load.Each(l.reports, connections, func(i int) error { return l.send(ctx, first+i) })
}
