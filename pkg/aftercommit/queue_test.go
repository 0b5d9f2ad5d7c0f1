package aftercommit_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/labplatform/labplatform/pkg/aftercommit"
)

type fixture struct {
	*aftercommit.Queue
	t        *testing.T
	registry *prometheus.Registry
	logs     strings.Builder
	stop     context.CancelFunc
	ended    chan error
}

// start returns a running queue; the caller must be in a synctest bubble.
func start(t *testing.T) *fixture {
	t.Helper()
	b := idle(t)
	ctx, cancel := context.WithCancel(t.Context())
	b.stop = cancel
	go func() { b.ended <- b.Run(ctx) }()
	return b
}

func idle(t *testing.T) *fixture {
	t.Helper()
	b := &fixture{t: t, registry: prometheus.NewRegistry(), ended: make(chan error, 1)}
	metrics := aftercommit.NewMetrics(b.registry, "cache")
	b.Queue = aftercommit.New(slog.New(slog.NewTextHandler(&b.logs, nil)), metrics)
	return b
}

func (b *fixture) end() {
	b.t.Helper()
	b.stop()
	if err := <-b.ended; err != nil {
		b.t.Fatal(err)
	}
}

func (b *fixture) expect(failed, dropped int) {
	b.t.Helper()
	for name, want := range map[string]int{"aftercommit_failed_total": failed, "aftercommit_dropped_total": dropped} {
		families, err := b.registry.Gather()
		if err != nil {
			b.t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == name && int(f.GetMetric()[0].GetCounter().GetValue()) != want {
				b.t.Errorf("%s = %v, want %d", name, f.GetMetric()[0].GetCounter().GetValue(), want)
			}
		}
	}
	if n, err := testutil.GatherAndCount(b.registry); err != nil || n != 3 {
		b.t.Errorf("series = %d, error %v, want 3", n, err)
	}
}

func TestTasksOfOneKeyRunInOrderAndOutliveTheirCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		ctx, cancel := context.WithCancel(t.Context())
		var got []int
		for i := range 5 {
			b.Do(ctx, 7001, "cache", func(ctx context.Context) error {
				got = append(got, i)
				return ctx.Err()
			})
		}
		cancel()
		b.end()
		if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, got); diff != "" {
			t.Fatal(diff)
		}
		b.expect(0, 0)
	})
}

func TestSlowTaskDelaysNeitherItsCallerNorOtherKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		began := time.Now()
		b.Do(t.Context(), 1, "cache", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		var other time.Duration
		b.Do(t.Context(), 2, "cache", func(context.Context) error { other = time.Since(began); return nil })
		if d := time.Since(began); d != 0 {
			t.Errorf("Do took %v, want 0", d)
		}
		b.end()
		if d := time.Since(began); other != 0 || d != 3*time.Second {
			t.Errorf("another key waited %v, want 0; the stop took %v, want 3s", other, d)
		}
		b.expect(1, 0)
	})
}

func TestPanicCountsAsFailureAndItsValueIsNotLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		done := false
		b.Do(t.Context(), 1, "cache", func(context.Context) error { panic("canary of a patient") })
		b.Do(t.Context(), 1, "cache", func(context.Context) error { return errors.New("unavailable") })
		b.Do(t.Context(), 1, "cache", func(context.Context) error { done = true; return nil })
		b.end()
		if !done || strings.Contains(b.logs.String(), "canary") || !strings.Contains(b.logs.String(), "stack=") {
			t.Fatalf("done = %v, want true; log with a stack and without the panic's value, got %s", done, b.logs.String())
		}
		b.expect(2, 0)
	})
}

func TestFullQueueDropsTasksAndNeverBlocks(t *testing.T) {
	t.Parallel()
	b := idle(t)
	for range 300 {
		b.Do(t.Context(), 1, "cache", func(context.Context) error { return nil })
	}
	b.expect(0, 300-256)
}

func TestStopFinishesQueuedTasksWithinTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		var began atomic.Int64
		for range 10 {
			b.Do(t.Context(), 1, "cache", func(ctx context.Context) error {
				began.Add(1)
				<-ctx.Done()
				return nil
			})
		}
		since := time.Now()
		b.end()
		if d := time.Since(since); d != 10*time.Second || began.Load() != 4 {
			t.Errorf("started tasks = %d in %v, want 4 in 10s", began.Load(), d)
		}
		b.Do(t.Context(), 1, "cache", func(context.Context) error { return nil })
		b.expect(0, 7)
	})
}
