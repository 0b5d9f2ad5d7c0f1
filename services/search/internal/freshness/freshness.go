// Package freshness owns how old the data behind the search may be. The connectors of change capture beat through the
// whole pipeline, and change capture keeps the moment before which every change can be found. Quiet hours age nothing.
package freshness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lifecycle"
)

// Status is what is known of the data.
type Status string

// The statuses.
const (
	Healthy Status = "healthy"
	Stale   Status = "stale"
	Unknown Status = "unknown" // it cannot be read, or no heartbeat has come through yet
)

// Progress reads how far change capture has come.
type Progress interface {
	// CompleteTo returns the moment before which every change can be found, zero while that is not known.
	CompleteTo(ctx context.Context) (time.Time, error)
}

// Config holds the documented variables; nest it with envPrefix "CDC_".
type Config struct {
	StaleThresholdSeconds int `env:"STALE_THRESHOLD_SECONDS" envDefault:"600"`
	ProbeIntervalSeconds  int `env:"PROBE_INTERVAL_SECONDS" envDefault:"30"`
}

// Validate refuses intervals that could tell nothing.
func (c *Config) Validate() error {
	if c.ProbeIntervalSeconds < 1 || c.StaleThresholdSeconds <= c.ProbeIntervalSeconds {
		return errors.New("CDC_PROBE_INTERVAL_SECONDS must be at least 1 and below CDC_STALE_THRESHOLD_SECONDS")
	}
	return nil
}

// Deps is what a Watch works with.
type Deps struct {
	Config   Config
	Progress Progress
	Clock    clock.Clock
	Log      *slog.Logger
}

// Watch knows how old the data is.
type Watch struct {
	d       Deps
	started time.Time

	mu       sync.RWMutex // guards what follows
	complete time.Time    // up to when the index is complete; zero while that was never known
	probed   time.Time    // when the last probe ended; zero before the first
	failed   bool         // the last probe told nothing
}

// New returns a watch that knows nothing yet.
func New(d Deps) *Watch { return &Watch{d: d, started: d.Clock.Now(), failed: true} }

// Run probes until ctx ends, and soon again while it learns nothing: after a start the connectors may not have beaten
// yet.
func (w *Watch) Run(ctx context.Context) error {
	return lifecycle.Repeat(ctx, w.pause, w.d.Log, "freshness", func(ctx context.Context) error {
		w.RunOnce(ctx)
		return nil
	})
}

// retryEvery is how long a probe that told nothing is rested from.
const retryEvery = 2 * time.Second

func (w *Watch) pause() time.Duration {
	w.mu.RLock()
	defer w.mu.RUnlock()
	interval := time.Duration(w.d.Config.ProbeIntervalSeconds) * time.Second
	if w.failed {
		return min(retryEvery, interval)
	}
	return interval
}

// probeTimeout is how long a probe may take.
const probeTimeout = 5 * time.Second

// RunOnce probes once.
func (w *Watch) RunOnce(ctx context.Context) {
	probing, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	complete, err := w.probe(probing)
	if ctx.Err() != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && (!w.failed || w.probed.IsZero()) {
		w.d.Log.WarnContext(ctx, "age of the data is not known", "error", err.Error())
	}
	if err == nil {
		w.complete = complete
	}
	w.probed, w.failed = w.d.Clock.Now(), err != nil
}

// probe asks change capture.
func (w *Watch) probe(ctx context.Context) (time.Time, error) {
	complete, err := w.d.Progress.CompleteTo(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("probe freshness: %w", err)
	}
	if complete.IsZero() {
		return time.Time{}, errors.New("no heartbeat has passed the whole pipeline yet: see `cdc connectors status`")
	}
	return complete, nil
}

// Report is the cdc object of GET /health.
type Report struct {
	Status           Status     `json:"status"`
	DataAgeSeconds   *float64   `json:"data_age_seconds"` // null while it was never known
	ThresholdSeconds int        `json:"threshold_seconds"`
	LastProbeAt      *time.Time `json:"last_probe_at"` // null before the first probe
}

// Report tells what is known now. The age grows between probes, and continues growing when they fail.
func (w *Watch) Report() Report {
	w.mu.RLock()
	defer w.mu.RUnlock()
	r := Report{Status: Unknown, ThresholdSeconds: w.d.Config.StaleThresholdSeconds}
	if !w.probed.IsZero() {
		at := w.probed.UTC().Truncate(time.Millisecond)
		r.LastProbeAt = &at
	}
	if w.complete.IsZero() {
		return r
	}
	age := max(w.d.Clock.Now().Sub(w.complete), 0).Round(time.Millisecond).Seconds()
	r.DataAgeSeconds = &age
	switch {
	case w.failed:
	case age < float64(r.ThresholdSeconds):
		r.Status = Healthy
	default:
		r.Status = Stale
	}
	return r
}

// age is what the metric shows: while nothing was ever known, the time since the start, which the age is at least as
// far as this process can tell; so an alert on it also fires when the pipeline never ran.
func (w *Watch) age(r Report) float64 {
	if r.DataAgeSeconds != nil {
		return *r.DataAgeSeconds
	}
	return w.d.Clock.Now().Sub(w.started).Seconds()
}
