package httpserver

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	probeInterval = 2 * time.Second
	probeTimeout  = 1500 * time.Millisecond
	// firstTimeout is the timeout of a probe until a dependency has responded once. The first check of some dependencies
	// loads scripts or reads every permission; on a slow disk a short timeout would never let it finish.
	firstTimeout = 10 * time.Second
	// downAfter is the number of consecutive failed probes after which a dependency counts as down; one success brings it
	// back up. A single slow response must not take every replica out of the load balancer at once.
	downAfter = 2
)

// Check is the readiness check of one dependency; Probe returns an error if the dependency does not respond.
type Check struct {
	Name     string
	Probe    func(context.Context) error
	Optional bool // the process is ready and healthy without it
}

// The states of a dependency.
const (
	Up   = "up"
	Down = "down"
)

// Health probes the dependencies of a process in the background and reports the last results. It is safe for
// concurrent use once Run has started.
type Health struct {
	checks   []Check
	log      *slog.Logger
	draining atomic.Bool

	mu     sync.RWMutex
	states []state           // guarded by mu, parallel to checks
	notes  map[string]string // guarded by mu
}

type state struct {
	up       bool
	answered bool // a probe has succeeded at least once
	failures int
	reason   string // of the last failure; empty if its text may contain anything
}

// Reason is an error whose text may be shown to every reader of /health: it must contain no secret and no data of a
// request or row.
type Reason interface {
	error
	Reason() string
}

// NewHealth returns a Health that becomes ready once each check has succeeded.
func NewHealth(log *slog.Logger, checks ...Check) *Health {
	return &Health{checks: checks, log: log, states: make([]state, len(checks)), notes: map[string]string{}}
}

// Add adds a check. It must not be called after Run.
func (h *Health) Add(check Check) {
	h.checks, h.states = append(h.checks, check), append(h.states, state{})
}

// Drain makes the process permanently not ready.
func (h *Health) Drain() { h.draining.Store(true) }

// Draining reports whether Drain was called.
func (h *Health) Draining() bool { return h.draining.Load() }

// Run probes all checks every two seconds until ctx ends.
func (h *Health) Run(ctx context.Context) error {
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		h.probeAll(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (h *Health) probeAll(ctx context.Context) {
	var wait sync.WaitGroup
	for i, check := range h.checks {
		timeout := h.timeout(i)
		wait.Go(func() {
			probeCtx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			h.record(ctx, i, check.Probe(probeCtx))
		})
	}
	wait.Wait()
}

func (h *Health) timeout(i int) time.Duration {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.states[i].answered {
		return probeTimeout
	}
	return firstTimeout
}

func (h *Health) record(ctx context.Context, i int, err error) {
	if ctx.Err() != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &h.states[i]
	was := s.up
	if err == nil {
		*s = state{up: true, answered: true}
	} else {
		s.fail(err)
	}
	switch {
	case was && !s.up:
		h.log.Warn("dependency is down", "dependency", h.checks[i].Name, "error", err.Error())
	case !was && s.up:
		h.log.Info("dependency is up", "dependency", h.checks[i].Name)
	case !was && s.failures == 1:
		h.log.Warn("dependency is not up yet", "dependency", h.checks[i].Name, "error", err.Error())
	}
}

func (s *state) fail(err error) {
	if s.failures++; s.failures >= downAfter {
		s.up = false
	}
	var reason Reason
	if s.reason = ""; errors.As(err, &reason) {
		s.reason = reason.Reason()
	}
}

// Reasons returns the safe texts of the failures of dependencies that are down; see Reason.
func (h *Health) Reasons() []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var reasons []string
	for i, s := range h.states {
		if !s.up && s.reason != "" {
			reasons = append(reasons, h.checks[i].Name+": "+s.reason)
		}
	}
	return reasons
}

// Note sets a text about a dependency that /health shows although the process continues to work; an empty text removes
// it. A new text is logged.
func (h *Health) Note(name, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.notes[name] == text {
		return
	}
	if h.notes[name] = text; text != "" {
		h.log.Warn("dependency needs attention", "dependency", name, "note", text)
	}
}

// Notes returns the texts that Note has set, sorted.
func (h *Health) Notes() []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var notes []string
	for name, text := range h.notes {
		if text != "" {
			notes = append(notes, name+": "+text)
		}
	}
	slices.Sort(notes)
	return notes
}

// Dependencies returns Up or Down by the name of each check.
func (h *Health) Dependencies() map[string]string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	out := make(map[string]string, len(h.checks))
	for i, check := range h.checks {
		out[check.Name] = Down
		if h.states[i].up {
			out[check.Name] = Up
		}
	}
	return out
}

// Healthy reports whether every dependency that is not optional is up.
func (h *Health) Healthy() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for i, s := range h.states {
		if !s.up && !h.checks[i].Optional {
			return false
		}
	}
	return true
}

// Ready reports whether the process should receive traffic.
func (h *Health) Ready() bool { return !h.Draining() && h.Healthy() }
