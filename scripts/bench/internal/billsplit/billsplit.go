// Package billsplit measures the splitting of bills of 40 tests on a whole stack with a durable database: splits per
// second, their p99 at half that load, and the SQL statements of one. Afterwards it checks that no paisa was lost.
package billsplit

import (
	"context"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/load"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/bench/internal/stack"
)

const (
	tests       = 40
	labs        = 8
	connections = 8
)

// Run measures execute_per_second and execute_p99_ms_half_load in one laboratory, whose splits are serialized by its
// bill numbers, then execute_per_second_8_labs and sql_statements_40_rows.
func Run(ctx context.Context, r *report.Report) error {
	rounds, bills := 5, 300
	if r.Quick {
		rounds, bills = 3, 100
	}
	s, err := stack.Start(ctx, r, "BILL_SPLIT_LOG_LEVEL=WARN", "GATEWAY_LOG_LEVEL=WARN")
	if err != nil {
		return err
	}
	defer s.Remove()
	l, err := newLaboratories(ctx, s, bills)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.checkDurable(ctx, r); err != nil {
		return err
	}
	if _, err := l.rate(ctx, 1, 1); err != nil { // warm-up
		return err
	}
	one, err := l.rate(ctx, rounds, 1)
	if err != nil {
		return err
	}
	r.Higher("execute_per_second", "1/s", one, "", nil)
	many, err := l.rate(ctx, rounds, labs)
	if err != nil {
		return err
	}
	r.Higher("execute_per_second_8_labs", "1/s", many, "", nil)
	if err := l.halfLoad(ctx, r, rounds, report.Median(one)/2); err != nil {
		return err
	}
	if err := l.statements(ctx, r, rounds); err != nil {
		return err
	}
	r.Correct("bills_split", l.split)
	r.Correct("paise_lost", 0)
	return nil
}

// checkDurable fails unless the database answers a commit only once it is on the disk.
func (l *laboratories) checkDurable(ctx context.Context, r *report.Report) error {
	var flush int
	if err := l.DB.QueryRowContext(ctx, "SELECT @@innodb_flush_log_at_trx_commit").Scan(&flush); err != nil {
		return err
	}
	if flush != 1 {
		return fmt.Errorf("innodb_flush_log_at_trx_commit is %d: the goal is for a durable database", flush)
	}
	r.Correct("innodb_flush_log_at_trx_commit", flush)
	return nil
}

// rate splits the bills of each round in a closed loop and returns the splits per second of each round.
func (l *laboratories) rate(ctx context.Context, rounds, labCount int) (perSecond []float64, err error) {
	for range rounds {
		first, err := l.open(ctx, labCount)
		if err != nil {
			return nil, err
		}
		start := time.Now()
		if err := load.Each(l.bills, connections, func(i int) error { return l.send(ctx, first+i, labCount) }); err != nil {
			return nil, err
		}
		perSecond = append(perSecond, float64(l.bills)/time.Since(start).Seconds())
		if err := l.settle(ctx, first); err != nil {
			return nil, err
		}
	}
	return perSecond, nil
}

// halfLoad splits at half the measured rate and measures each request from the time when it was due.
func (l *laboratories) halfLoad(ctx context.Context, r *report.Report, rounds int, perSecond float64) error {
	var p50, p99 []float64
	for range rounds {
		first, err := l.open(ctx, 1)
		if err != nil {
			return err
		}
		taken, err := load.Paced(l.bills, perSecond, func(i int) error { return l.send(ctx, first+i, 1) })
		if err != nil {
			return err
		}
		if err := l.settle(ctx, first); err != nil {
			return err
		}
		p50, p99 = append(p50, load.Quantile(taken, 0.5)), append(p99, load.Quantile(taken, 0.99))
	}
	r.Lower("execute_p99_ms_half_load", "ms", p99, "", nil)
	r.Lower("execute_p50_ms_half_load", "ms", p50, "", nil)
	return nil
}

// statements counts the database's statements while bills are split one after the other, minus those of the same time
// without splits, which come from background loops.
func (l *laboratories) statements(ctx context.Context, r *report.Report, rounds int) error {
	var perSplit []float64
	for range rounds {
		first, err := l.open(ctx, 1)
		if err != nil {
			return err
		}
		start := time.Now()
		busy, err := l.asked(ctx, func() error {
			return load.Each(l.bills, 1, func(i int) error { return l.send(ctx, first+i, 1) })
		})
		if err != nil {
			return err
		}
		took := time.Since(start)
		idle, err := l.asked(ctx, func() error {
			time.Sleep(took)
			return nil
		})
		if err != nil {
			return err
		}
		perSplit = append(perSplit, float64(busy-idle)/float64(l.bills))
		if err := l.settle(ctx, first); err != nil {
			return err
		}
	}
	r.Lower("sql_statements_40_rows", "", perSplit, "", nil)
	return nil
}

func (l *laboratories) asked(ctx context.Context, work func() error) (int, error) {
	before, err := l.Status(ctx, "Questions")
	if err != nil {
		return 0, err
	}
	if err := work(); err != nil {
		return 0, err
	}
	after, err := l.Status(ctx, "Questions")
	return after - before, err
}
