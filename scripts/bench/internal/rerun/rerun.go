// Package rerun measures POST …/new with a blood count of 30 parameters on a whole stack: how many values it
// takes, and how long a message waits at half of that. Every stored value is counted in the document store.
package rerun

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/bench/internal/stack"
)

const (
	parameters  = 30
	connections = 8
)

// Run measures new_values_per_second_30_params (requests to /new, each with 30 values) and
// new_values_p99_ms_half_load.
func Run(ctx context.Context, r *report.Report) error {
	rounds, reports := 7, 100
	if r.Quick {
		rounds, reports = 3, 100
	}
	s, err := stack.New("RERUN_LOG_LEVEL=WARN", "GATEWAY_LOG_LEVEL=WARN")
	if err != nil {
		return err
	}
	defer s.Remove()
	took, err := s.Up(ctx)
	if err != nil {
		return err
	}
	r.Progress("a stack of its own is up after %.1f s", took.Seconds())
	lab, err := newLaboratory(ctx, s.Dir, s.Endpoints, reports)
	if err != nil {
		return err
	}
	defer lab.close()

	if _, err := lab.round(ctx, closedLoop); err != nil { // warm
		return err
	}
	lab.stored = 0
	var perSecond []float64
	for range rounds {
		elapsed, err := lab.round(ctx, closedLoop)
		if err != nil {
			return err
		}
		perSecond = append(perSecond, float64(reports)/elapsed.Seconds())
	}
	r.Higher("new_values_per_second_30_params", "1/s", perSecond, "", nil)
	return lab.halfLoad(ctx, r, rounds, report.Median(perSecond)/2)
}

// halfLoad sends at half the measured rate and takes each message's time from when it was due.
func (l *laboratory) halfLoad(ctx context.Context, r *report.Report, rounds int, perSecond float64) error {
	var p99, p50 []float64
	for range rounds {
		var taken []time.Duration
		_, err := l.round(ctx, func(ctx context.Context, l *laboratory, first int) (err error) {
			taken, err = paced(ctx, l, first, perSecond)
			return err
		})
		if err != nil {
			return err
		}
		slices.Sort(taken)
		p50 = append(p50, milliseconds(taken[len(taken)/2]))
		p99 = append(p99, milliseconds(taken[len(taken)*99/100]))
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

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// closedLoop sends the values of every report over a few connections, each as fast as it is answered.
func closedLoop(ctx context.Context, l *laboratory, first int) error {
	return l.each(first, connections, func(id int) error { return l.send(ctx, id) })
}

// paced starts one message per interval, whatever became of the earlier ones.
func paced(ctx context.Context, l *laboratory, first int, perSecond float64) ([]time.Duration, error) {
	interval := time.Duration(float64(time.Second) / perSecond)
	taken := make([]time.Duration, l.reports)
	errs := make(chan error, l.reports)
	var wait sync.WaitGroup
	start := time.Now()
	for i := range l.reports {
		due := start.Add(time.Duration(i) * interval)
		time.Sleep(time.Until(due))
		wait.Go(func() {
			errs <- l.send(ctx, first+i)
			taken[i] = time.Since(due)
		})
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return taken, nil
}
