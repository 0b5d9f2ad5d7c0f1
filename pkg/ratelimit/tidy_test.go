package ratelimit

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
)

func TestUnusedSubjectsAreRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := NewLocal(clock.System{})
		for i := range 1000 {
			limiter.take(subject{strconv.Itoa(i), time.Minute}, 5)
		}
		time.Sleep(time.Minute)
		limiter.take(subject{"active", time.Minute}, 5)
		if len(limiter.subjects) != 1 {
			t.Fatalf("subjects kept = %d, want 1", len(limiter.subjects))
		}
		for range 1000 {
			limiter.take(subject{"active", time.Minute}, 5)
		}
		if n := len(limiter.subjects[subject{"active", time.Minute}]); n != 5 {
			t.Fatalf("entries kept = %d, want 5", n)
		}
	})
}
