package await_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// test is a testing.TB that records a failure.
type test struct {
	testing.TB
	ctx     context.Context
	failure string
}

func (t *test) Helper()                  {}
func (t *test) Context() context.Context { return t.ctx }

func (t *test) Fatalf(format string, args ...any) {
	t.failure = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failureOf runs body as a separate test with ctx and returns its failure message, empty if it passed.
func failureOf(ctx context.Context, body func(t testing.TB)) string {
	t, ended := &test{ctx: ctx}, make(chan struct{})
	go func() {
		defer close(ended)
		body(t)
	}()
	<-ended
	return t.failure
}

func TestTrueConditionTakesNoTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		await.Nil(t, "nothing", func() error { return nil })
		await.True(t, "nothing", func() bool { return true })
		if took := time.Since(begin); took != 0 {
			t.Errorf("waited %v, want 0", took)
		}
	})
}

func TestPausesGrowByHalfUpToTheLongest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var pauses []time.Duration
		last := time.Now()
		await.Nil(t, "the eleventh call", func() error {
			pauses, last = append(pauses, time.Since(last)), time.Now()
			if len(pauses) < 11 {
				return errors.New("not yet")
			}
			return nil
		})
		want := []time.Duration{0, 10e6, 15e6, 22.5e6, 33.75e6, 50.625e6, 75_937_500, 113_906_250, 170_859_375, 200e6, 200e6} // in nanoseconds
		if diff := cmp.Diff(want, pauses); diff != "" {
			t.Errorf("pauses (-want +got):\n%s", diff)
		}
	})
}

func TestConditionMayBecomeTrueLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		await.True(t, "two minutes", func() bool { return time.Since(begin) >= 2*time.Minute })
		if took := time.Since(begin); took > 2*time.Minute+200*time.Millisecond {
			t.Errorf("returned after %v, want at most 2m0.2s", took)
		}
	})
}

func TestTimeoutFailsTheTestWithTheLastError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin, calls := time.Now(), 0
		failure := failureOf(t.Context(), func(t testing.TB) {
			await.Nil(t, "the response", func() error { calls++; return fmt.Errorf("question %d", calls) })
		})
		if want := fmt.Sprintf("the response did not happen within 3m0s: question %d", calls); failure != want {
			t.Errorf("failure = %q, want %q", failure, want)
		}
		if took := time.Since(begin); took != 3*time.Minute {
			t.Errorf("failed after %v, want 3m", took)
		}
		failure = failureOf(t.Context(), func(t testing.TB) { await.True(t, "the end", func() bool { return false }) })
		if want := "the end did not happen within 3m0s: the condition is still false"; failure != want {
			t.Errorf("failure = %q, want %q", failure, want)
		}
	})
}

func TestWaitEndsWithTheTestsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		failure := failureOf(ctx, func(t testing.TB) { await.Nil(t, "the response", func() error { return errors.New("no response") }) })
		if took := time.Since(begin); took != time.Second || failure != "the response did not happen within 3m0s: no response" {
			t.Errorf("failure = %q after %v, want the last error after 1s", failure, took)
		}
	})
}

func TestCleanupMayWait(t *testing.T) {
	t.Parallel()
	checks := 0
	t.Run("a test that is over", func(t *testing.T) {
		t.Cleanup(func() {
			await.True(t, "the second check", func() bool { checks++; return checks == 2 })
		})
	})
	if checks != 2 {
		t.Errorf("checks = %d, want 2", checks)
	}
}
