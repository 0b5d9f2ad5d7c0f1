// Package callout measures GET /report/<bill>/critical/records of a bill with 30 reports of 20 parameters each, on a
// whole stack at 100 requests per second. Each response is checked: it lists every report with its critical values.
package callout

import (
	"context"
	"fmt"

	"github.com/labplatform/labplatform/scripts/bench/internal/load"
	"github.com/labplatform/labplatform/scripts/bench/internal/process"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/bench/internal/stack"
)

const (
	reports    = 30
	parameters = 20
	critical   = 2 // critical parameters of a report
	perSecond  = 100
)

// Run measures decide_per_second and explore_states_per_second, then on a stack records_p99_ms, records_p50_ms, the CPU
// time of a request, sql_statements, and the cost of boards in a laboratory with thousands of waiting reports:
// open_p99_ms and boards_50_cpu_percent.
func Run(ctx context.Context, r *report.Report) error {
	rounds, requests := 5, 1000
	if r.Quick {
		rounds, requests = 3, 400
	}
	if err := decisions(ctx, r, rounds); err != nil {
		return err
	}
	s, err := stack.Start(ctx, r, "CALLOUT_LOG_LEVEL=WARN", "GATEWAY_LOG_LEVEL=WARN")
	if err != nil {
		return err
	}
	defer s.Remove()
	lab, err := newLaboratory(ctx, s)
	if err != nil {
		return err
	}
	defer lab.Close()
	if err := lab.cpu(ctx, r, rounds, requests/4, map[string]int{
		"service": s.PID("callout"), "gateway": s.PID("gateway"), "database": s.PID("mysql"),
	}); err != nil {
		return err
	}
	var p99, p50 []float64
	for range rounds {
		taken, err := load.Paced(requests, perSecond, func(int) error { return lab.list(ctx, bigBill, reports) })
		if err != nil {
			return err
		}
		p50 = append(p50, load.Quantile(taken, 0.5))
		p99 = append(p99, load.Quantile(taken, 0.99))
	}
	r.Lower("records_p99_ms", "ms", p99, "", nil)
	r.Lower("records_p50_ms", "ms", p50, "", nil)
	if err := lab.statements(ctx, r, rounds); err != nil {
		return err
	}
	if err := lab.busyBoard(ctx, r, s, rounds-1); err != nil {
		return err
	}
	r.Correct("requests", rounds*requests)
	r.Correct("reports_listed", rounds*requests*reports)
	return nil
}

// cpu measures the CPU time of a request in each process, one request after the other, so that the figure is usable on
// a busy machine.
func (l *laboratory) cpu(ctx context.Context, r *report.Report, rounds, requests int, pids map[string]int) error {
	costs := process.NewCosts(pids)
	for range rounds + 1 { // the first one warms up
		err := costs.Of(requests, func() error {
			for range requests {
				if err := l.list(ctx, bigBill, reports); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, name := range []string{"service", "gateway", "database"} {
		r.Lower("records_cpu_us_"+name, "µs", costs.Runs[name][1:], "", nil)
	}
	return nil
}

// statements counts the SELECTs for a bill of one report and for the whole bill: the number must not grow with the
// bill.
func (l *laboratory) statements(ctx context.Context, r *report.Report, rounds int) error {
	var counts []float64
	for range rounds {
		one, err := l.selects(ctx, smallBill, 1)
		if err != nil {
			return err
		}
		all, err := l.selects(ctx, bigBill, reports)
		if err != nil {
			return err
		}
		if all > one+1 { // background loops may add one per request; one statement per report would add 29
			return fmt.Errorf("%d statements for one report, %d for %d", one, all, reports)
		}
		counts = append(counts, float64(one))
	}
	r.Lower("sql_statements", "-", counts, "", nil)
	return nil
}

// selects returns the number of SELECTs of one request, averaged over many, so that rounding removes those of
// background loops.
func (l *laboratory) selects(ctx context.Context, bill, want int) (int, error) {
	const many = 200
	before, err := l.Status(ctx, "Com_select")
	if err != nil {
		return 0, err
	}
	for range many {
		if err := l.list(ctx, bill, want); err != nil {
			return 0, err
		}
	}
	after, err := l.Status(ctx, "Com_select")
	return (after - before + many/2) / many, err
}
