// Package freshness tracks the age of the data behind the search. Heartbeats of the connectors pass through the whole
// pipeline, and change capture stores the time up to which all changes can be found. The age does not grow while there
// are no changes.
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

// Status is the state of the data.
type Status string

// States of the data.
const (
	Healthy Status = "healthy"
	Stale   Status = "stale"
	Unknown Status = "unknown" // the age cannot be read, or no heartbeat has passed the pipeline yet
)

// Progress reads the progress of change capture.
type Progress interface {
	// CompleteTo returns the time up to which all changes can be found; zero if unknown.
	CompleteTo(ctx context.Context) (time.Time, error)
}

// Config holds the documented variables; embed it with envPrefix "CDC_".
type Config struct {
	StaleThresholdSeconds int `env:"STALE_THRESHOLD_SECONDS" envDefault:"600"`
	ProbeIntervalSeconds  int `env:"PROBE_INTERVAL_SECONDS" envDefault:"30"`
}

// Validate rejects a probe interval below 1 s, or one that is not below the threshold.
func (c *Config) Validate() error {
	if c.ProbeIntervalSeconds < 1 || c.StaleThresholdSeconds <= c.ProbeIntervalSeconds {
		return errors.New("CDC_PROBE_INTERVAL_SECONDS must be at least 1 and below CDC_STALE_THRESHOLD_SECONDS")
	}
	return nil
}

// Deps are the dependencies of a Watch.
type Deps struct {
	Config   Config
	Progress Progress
	Clock    clock.Clock
	Log      *slog.Logger
}

// Watch tracks the age of the data. Its methods may be called from several goroutines.
type Watch struct {
	d       Deps
	started time.Time

	mu       sync.RWMutex // guards the following fields
	complete time.Time    // time up to which the index is complete; zero if it was never known
	probed   time.Time    // end of the last probe; zero before the first
	failed   bool         // the last probe failed
}

// New returns a watch without a result. Run starts the probes.
func New(d Deps) *Watch { return &Watch{d: d, started: d.Clock.Now(), failed: true} }

// Run probes until ctx ends. It probes more often while probes fail, because the connectors may not have sent a
// heartbeat yet after a start.
func (w *Watch) Run(ctx context.Context) error {
	return lifecycle.Repeat(ctx, w.pause, w.d.Log, "freshness", func(ctx context.Context) error {
		w.RunOnce(ctx)
		return nil
	})
}

// retryEvery is the interval after a failed probe.
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

// probeTimeout is the maximum duration of a probe.
const probeTimeout = 5 * time.Second

// RunOnce makes one probe and stores its result.
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

// probe reads the progress of change capture.
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

// Report is the object cdc of GET /health.
type Report struct {
	Status           Status     `json:"status"`
	DataAgeSeconds   *float64   `json:"data_age_seconds"` // null if it was never known
	ThresholdSeconds int        `json:"threshold_seconds"`
	LastProbeAt      *time.Time `json:"last_probe_at"` // null before the first probe
}

// Report returns the present state. The age keeps growing between probes and during failures.
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

// age returns the value of the metric. If the age was never known, it is the time since the start, as a lower bound, so
// that an alert fires even if the pipeline never ran.
func (w *Watch) age(r Report) float64 {
	if r.DataAgeSeconds != nil {
		return *r.DataAgeSeconds
	}
	return w.d.Clock.Now().Sub(w.started).Seconds()
}
