package lifecycle_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

func TestEveryGoesOnAfterAPanicAndCountsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var logs strings.Builder
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		passes := 0
		err := lifecycle.Every(ctx, time.Second, slog.New(slog.NewTextHandler(&logs, nil)), "panicking", func(context.Context) error {
			if passes++; passes%2 == 1 {
				panic("patient Rahul")
			}
			return nil
		})
		if err != nil || passes != 4 {
			t.Errorf("%d passes, error %v", passes, err)
		}
		if n := testutil.ToFloat64(lifecycle.Metrics().(*prometheus.CounterVec).WithLabelValues("panicking")); n != 2 {
			t.Errorf("%v panics counted", n)
		}
		if strings.Contains(logs.String(), "Rahul") || strings.Count(logs.String(), "a pass panicked") != 2 {
			t.Error(logs.String())
		}
	})
}
