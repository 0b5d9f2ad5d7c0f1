package lifecycle_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func untilStopped(j *journal, name string) func(context.Context) error {
	return func(ctx context.Context) error {
		<-ctx.Done()
		j.add("stopped " + name)
		return ctx.Err()
	}
}

func TestStopRunsInReverseOrderAfterTheDrainDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		g := lifecycle.New(lifecycle.Config{DrainDelaySeconds: 5, StopTimeoutSeconds: 30}, quiet())
		g.OnDrain(func() { j.add("not ready") })
		g.Close("database", func(context.Context) error { j.add("closed database"); return nil })
		g.Run("grpc", untilStopped(&j, "grpc"))
		g.Run("relay", untilStopped(&j, "relay"))
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		go cancel()
		if err := g.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		want := []string{"not ready", "stopped relay", "stopped grpc", "closed database"}
		if diff := cmp.Diff(want, j.lines); diff != "" {
			t.Fatal(diff)
		}
		if waited := time.Since(start); waited != 5*time.Second {
			t.Fatalf("drain delay = %v, want 5s", waited)
		}
	})
}

func TestFailingRunnerStopsTheGroupAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		g := lifecycle.New(lifecycle.Config{DrainDelaySeconds: 60, StopTimeoutSeconds: 30}, quiet())
		g.Run("grpc", untilStopped(&j, "grpc"))
		g.Run("broken", func(context.Context) error { return errors.New("port in use") })
		err := g.Wait(t.Context())
		if err == nil || !strings.Contains(err.Error(), "broken: port in use") {
			t.Fatalf("Wait = %v, want the error of broken", err)
		}
		if diff := cmp.Diff([]string{"stopped grpc"}, j.lines); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestHangingRunnerIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		g := lifecycle.New(lifecycle.Config{StopTimeoutSeconds: 1}, quiet())
		g.Run("stuck", func(context.Context) error { <-release; return nil })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := g.Wait(ctx); err == nil || !strings.Contains(err.Error(), "stuck did not stop in time") {
			t.Fatalf("Wait = %v, want stuck named", err)
		}
	})
}

func TestEveryLogsALastingFailureOnceAMinuteAndItsRecovery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		var logs strings.Builder
		begin := time.Now()
		err := lifecycle.Every(ctx, 2*time.Second, slog.New(slog.NewTextHandler(&logs, nil)), "sweep", func(context.Context) error {
			switch passed := time.Since(begin); {
			case passed < 119*time.Second:
				return errors.New("database is unavailable")
			case passed < 121*time.Second:
				return errors.New("database is read-only")
			}
			return nil
		})
		got := []int{strings.Count(logs.String(), "database is unavailable"), strings.Count(logs.String(), "database is read-only"), strings.Count(logs.String(), "loop recovered")}
		if err != nil || !slices.Equal(got, []int{2, 1, 1}) {
			t.Fatalf("log lines of the two errors and the recovery = %v, want [2 1 1], error %v, log:\n%s", got, err, logs.String())
		}
	})
}

func TestEveryContinuesAfterAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		runs := 0
		err := lifecycle.Every(ctx, time.Second, quiet(), "sweep", func(context.Context) error {
			runs++
			return errors.New("database is unavailable")
		})
		if err != nil || runs != 4 {
			t.Fatalf("runs = %d, error %v, want 4, nil", runs, err)
		}
	})
}
