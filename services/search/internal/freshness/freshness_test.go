package freshness_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/search/internal/freshness"
)

// pipeline is a fake of the table cdc_freshness.
type pipeline struct {
	mu       sync.Mutex // guards the following fields
	complete time.Time
	err      error
	reads    int
}

func (p *pipeline) CompleteTo(context.Context) (time.Time, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads++
	return p.complete, p.err
}

func (p *pipeline) set(err error, complete time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err, p.complete = err, complete
}

type fixture struct {
	watch    *freshness.Watch
	pipeline *pipeline
	registry *prometheus.Registry
	log      strings.Builder
}

func setup(t *testing.T) *fixture {
	t.Helper()
	b := &fixture{pipeline: &pipeline{}, registry: prometheus.NewRegistry()}
	b.watch = freshness.New(freshness.Deps{
		Config: freshness.Config{StaleThresholdSeconds: 600, ProbeIntervalSeconds: 30}, Progress: b.pipeline, Clock: clock.System{},
		Log: slog.New(slog.NewTextHandler(&b.log, nil)),
	})
	b.watch.Register(b.registry)
	return b
}

// expect compares the metrics, and the report without its time.
func (b *fixture) expect(t *testing.T, status freshness.Status, age string, metric, healthy float64) {
	t.Helper()
	text, err := json.Marshal(b.watch.Report())
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"status":%q,"data_age_seconds":%s,"threshold_seconds":600,"last_probe_at":`, status, age)
	if !strings.HasPrefix(string(text), want) {
		t.Fatalf("report %s, want %s…", text, want)
	}
	if err := testutil.GatherAndCompare(b.registry, strings.NewReader(fmt.Sprintf(`
# HELP search_cdc_healthy 1 while the age of the data is known and below the threshold, else 0.
# TYPE search_cdc_healthy gauge
search_cdc_healthy %v
# HELP search_data_age_seconds Age of the newest moment up to which the index is complete; seconds since the start while it is unknown.
# TYPE search_data_age_seconds gauge
search_data_age_seconds %v
`, healthy, metric))); err != nil {
		t.Fatal(err)
	}
}

func TestTheAgeGrowsBetweenProbes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.expect(t, freshness.Unknown, "null", 0, 0)
		now := time.Now()
		b.pipeline.set(nil, now.Add(-12400*time.Millisecond))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = b.watch.Run(ctx) }()
		synctest.Wait()
		b.expect(t, freshness.Healthy, "12.4", 12.4, 1)
		time.Sleep(10 * time.Second)
		b.expect(t, freshness.Healthy, "22.4", 22.4, 1)
		if b.pipeline.reads != 1 {
			t.Fatalf("%d probes in ten seconds", b.pipeline.reads)
		}
		b.pipeline.set(nil, now.Add(15*time.Second))
		time.Sleep(20 * time.Second)
		synctest.Wait()
		b.expect(t, freshness.Healthy, "15", 15, 1)
		time.Sleep(584 * time.Second)
		b.expect(t, freshness.Healthy, "599", 599, 1)
		time.Sleep(time.Second)
		b.expect(t, freshness.Stale, "600", 600, 0)
	})
}

func TestAProbeThatToldNothingIsSoonRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.pipeline.set(nil, time.Time{}) // no heartbeat has passed the pipeline yet
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = b.watch.Run(ctx) }()
		time.Sleep(3 * time.Second)
		b.pipeline.set(nil, time.Now())
		time.Sleep(1500 * time.Millisecond)
		b.expect(t, freshness.Healthy, "1.5", 1.5, 1)
		time.Sleep(25 * time.Second)
		synctest.Wait()
		if b.pipeline.reads != 3 {
			t.Fatalf("%d probes, want two that told nothing and one", b.pipeline.reads)
		}
	})
}

func TestWhatCannotBeReadIsUnknownAndGrowsOlder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.pipeline.set(nil, time.Now())
		b.watch.RunOnce(t.Context())
		b.expect(t, freshness.Healthy, "0", 0, 1)
		time.Sleep(time.Minute)
		b.pipeline.set(errors.New("connection refused"), time.Time{})
		b.watch.RunOnce(t.Context())
		b.watch.RunOnce(t.Context())
		b.expect(t, freshness.Unknown, "60", 60, 0)
		if told := strings.Count(b.log.String(), "not known"); told != 1 {
			t.Errorf("the log tells %d times", told)
		}
		b.pipeline.set(nil, time.Now())
		b.watch.RunOnce(t.Context())
		b.expect(t, freshness.Healthy, "0", 0, 1)
	})
}

func TestWhileNoHeartbeatCameThroughItIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		time.Sleep(time.Hour)
		b.watch.RunOnce(t.Context())
		b.expect(t, freshness.Unknown, "null", 3600, 0)
	})
}

func TestAMomentOfAFasterClockIsFresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.pipeline.set(nil, time.Now().Add(time.Second))
		b.watch.RunOnce(t.Context())
		b.expect(t, freshness.Healthy, "0", 0, 1)
	})
}

func TestIntervalsThatTellNothingAreRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []freshness.Config{{StaleThresholdSeconds: 600}, {StaleThresholdSeconds: 30, ProbeIntervalSeconds: 30}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	good := freshness.Config{StaleThresholdSeconds: 600, ProbeIntervalSeconds: 30}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}
