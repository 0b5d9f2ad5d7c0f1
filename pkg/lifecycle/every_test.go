package lifecycle_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

func TestEveryContinuesAfterAPanicAndCountsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var logs strings.Builder
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		runs := 0
		err := lifecycle.Every(ctx, time.Second, slog.New(slog.NewTextHandler(&logs, nil)), "panicking", func(context.Context) error {
			if runs++; runs%2 == 1 {
				panic("patient Rahul")
			}
			return nil
		})
		if err != nil || runs != 4 {
			t.Errorf("runs = %d, error %v, want 4, nil", runs, err)
		}
		if n := testutil.ToFloat64(lifecycle.Metrics().(*prometheus.CounterVec).WithLabelValues("panicking")); n != 2 {
			t.Errorf("panics counted = %v, want 2", n)
		}
		if strings.Contains(logs.String(), "Rahul") || strings.Count(logs.String(), "background work panicked") != 2 {
			t.Errorf("log = %s, want two panics without their values", logs.String())
		}
	})
}

func TestRepeatCallsPauseAfterEachRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 16*time.Second)
		defer cancel()
		var at []time.Duration
		begin, pause := time.Now(), 500*time.Millisecond
		double := func() time.Duration { pause *= 2; return pause }
		err := lifecycle.Repeat(ctx, double, quiet(), "doubling", func(context.Context) error {
			at = append(at, time.Since(begin))
			return nil
		})
		if diff := cmp.Diff([]time.Duration{0, 1e9, 3e9, 7e9, 15e9}, at); diff != "" || err != nil {
			t.Errorf("times of the runs (-want +got):\n%s\nerror %v", diff, err)
		}
	})
}

func TestPanicOfARunnerStopsTheGroupInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		var logs strings.Builder
		g := lifecycle.New(lifecycle.Config{StopTimeoutSeconds: 30}, slog.New(slog.NewTextHandler(&logs, nil)))
		g.Close("database", func(context.Context) error { j.add("closed database"); return nil })
		g.Run("grpc", untilStopped(&j, "grpc"))
		g.Run("broken", func(context.Context) error { panic("patient Rahul") })
		err := g.Wait(t.Context())
		if err == nil || !strings.Contains(err.Error(), "broken: panic of type string") {
			t.Errorf("Wait = %v, want the panic of broken", err)
		}
		if diff := cmp.Diff([]string{"stopped grpc", "closed database"}, j.lines); diff != "" {
			t.Errorf("order of the stop (-want +got):\n%s", diff)
		}
		if strings.Contains(logs.String(), "Rahul") || !strings.Contains(logs.String(), "stack=") {
			t.Errorf("log = %s, want a stack without the panic's value", logs.String())
		}
		if n := testutil.ToFloat64(lifecycle.Metrics().(*prometheus.CounterVec).WithLabelValues("broken")); n != 1 {
			t.Errorf("panics counted = %v, want 1", n)
		}
	})
}
