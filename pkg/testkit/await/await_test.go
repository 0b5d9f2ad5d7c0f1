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

// test is a test that may fail.
type test struct {
	testing.TB
	ctx  context.Context
	said string
}

func (t *test) Helper()                  {}
func (t *test) Context() context.Context { return t.ctx }

func (t *test) Fatalf(format string, args ...any) {
	t.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failureOf runs body as a test of its own with ctx and returns how that failed, "" when it did not.
func failureOf(ctx context.Context, body func(t testing.TB)) string {
	t, ended := &test{ctx: ctx}, make(chan struct{})
	go func() {
		defer close(ended)
		body(t)
	}()
	<-ended
	return t.said
}

func TestWhatIsSoAlreadyTakesNoTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		await.Nil(t, "nothing", func() error { return nil })
		await.True(t, "nothing", func() bool { return true })
		if took := time.Since(begin); took != 0 {
			t.Errorf("waited %v", took)
		}
	})
}

func TestThePausesGrowByHalfUpToTheLongest(t *testing.T) {
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
		want := []time.Duration{0, 10e6, 15e6, 22.5e6, 33.75e6, 50.625e6, 75_937_500, 113_906_250, 170_859_375, 200e6, 200e6} // ns
		if diff := cmp.Diff(want, pauses); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAConditionMayComeTrueLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		await.True(t, "two minutes", func() bool { return time.Since(begin) >= 2*time.Minute })
		if took := time.Since(begin); took > 2*time.Minute+200*time.Millisecond {
			t.Errorf("noticed after %v", took)
		}
	})
}

func TestWhatNeverHappensFailsTheTestWithTheLastError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin, calls := time.Now(), 0
		said := failureOf(t.Context(), func(t testing.TB) {
			await.Nil(t, "the answer", func() error { calls++; return fmt.Errorf("question %d", calls) })
		})
		if want := fmt.Sprintf("the answer did not happen within 3m0s: question %d", calls); said != want {
			t.Errorf("said %q, want %q", said, want)
		}
		if took := time.Since(begin); took != 3*time.Minute {
			t.Errorf("failed after %v", took)
		}
		said = failureOf(t.Context(), func(t testing.TB) { await.True(t, "the end", func() bool { return false }) })
		if want := "the end did not happen within 3m0s: it is not so yet"; said != want {
			t.Errorf("said %q, want %q", said, want)
		}
	})
}

func TestTheEndOfTheTestEndsTheWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		said := failureOf(ctx, func(t testing.TB) { await.Nil(t, "the answer", func() error { return errors.New("silence") }) })
		if took := time.Since(begin); took != time.Second || said != "the answer did not happen within 3m0s: silence" {
			t.Errorf("said %q after %v", said, took)
		}
	})
}

func TestACleanupMayWaitToo(t *testing.T) {
	t.Parallel()
	checks := 0
	t.Run("a test that is over", func(t *testing.T) {
		t.Cleanup(func() {
			await.True(t, "the second look", func() bool { checks++; return checks == 2 })
		})
	})
	if checks != 2 {
		t.Errorf("%d looks", checks)
	}
}
