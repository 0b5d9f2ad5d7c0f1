package gateway

import (
	"context"
	"slices"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/process"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/bench/internal/stack"
	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
)

const (
	idle      = 10 * time.Second
	quickIdle = time.Second
)

// startup measures the start of the stack with built programs, and the idle memory of its services.
func startup(ctx context.Context, r *report.Report) error {
	rounds, rest := 3, idle
	if r.Quick {
		rounds, rest = 2, quickIdle
	}
	var fresh, again, memory []float64
	for range rounds {
		f, a, m, err := once(ctx, r, rest)
		if err != nil {
			return err
		}
		fresh, again, memory = append(fresh, f.Seconds()), append(again, a.Seconds()), append(memory, m)
	}
	r.Lower("stack_up_seconds_warm", "s", fresh, "", nil)
	r.Lower("stack_up_seconds_again", "s", again, "", nil)
	r.Lower("idle_rss_mib_max_service", "MiB", memory, "", nil)
	return nil
}

// once starts a stack without data, stops it, starts it again on its data, and measures the second start.
func once(
	ctx context.Context,
	r *report.Report,
	rest time.Duration,
) (fresh, again time.Duration, rss float64, err error) {
	s, err := stack.New()
	if err != nil {
		return 0, 0, 0, err
	}
	defer s.Remove()
	fresh, err = s.Up(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	time.Sleep(rest)
	if rss, err = largest(r, s.Endpoints); err != nil {
		return 0, 0, 0, err
	}
	if err = s.Down(ctx); err != nil {
		return 0, 0, 0, err
	}
	again, err = s.Up(ctx)
	return fresh, again, rss, err
}

// startupPipeline measures the start of the stack with change capture: until both connectors run and the consumer has
// joined its group.
func startupPipeline(ctx context.Context, r *report.Report) error {
	rounds := 3
	if r.Quick {
		rounds = 2
	}
	var fresh, again []float64
	for round := range rounds {
		f, a, err := oncePipeline(ctx, round == 0, r.Quick)
		if err != nil {
			return err
		}
		fresh, again = append(fresh, f.Seconds()), append(again, a.Seconds())
	}
	r.Lower("stack_up_seconds_warm_pipeline", "s", fresh, "", nil)
	if !r.Quick {
		r.Lower("stack_up_seconds_again_pipeline", "s", again, "", nil)
	}
	return nil
}

func oncePipeline(ctx context.Context, fetch, freshOnly bool) (fresh, again time.Duration, err error) {
	s, err := stack.New("LAB_PIPELINE=on")
	if err != nil {
		return 0, 0, err
	}
	defer s.Remove()
	if fetch {
		if err := s.Fetch(ctx); err != nil {
			return 0, 0, err
		}
	}
	if fresh, err = s.Up(ctx); err != nil || freshOnly {
		return fresh, 0, err
	}
	if err = s.Down(ctx); err != nil {
		return 0, 0, err
	}
	again, err = s.Up(ctx)
	return fresh, again, err
}

// largest returns the memory of the service that uses the most.
func largest(r *report.Report, e endpoints.Endpoints) (float64, error) {
	engines := []string{"mysql", "redis", "mongo", "kafka", "connector", "elasticsearch"}
	most := 0.0
	for name, pid := range e.PIDs {
		if slices.Contains(engines, name) {
			continue
		}
		mib, err := process.RSS(pid)
		if err != nil {
			return 0, err
		}
		r.Progress("idle memory of %-12s %6.1f MiB", name, mib)
		most = max(most, mib)
	}
	return most, nil
}
