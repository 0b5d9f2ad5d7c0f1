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
	// firstTimeout is how long a dependency has that never answered: the first check of some loads scripts or asks for
	// every right, and on a slow disk an impatient one would start over for ever.
	firstTimeout = 10 * time.Second
	// downAfter is how many probes in a row must fail before a dependency counts as down; one success brings
	// it back. A single slow answer must not take every replica out of the load balancer at once.
	downAfter = 2
)

// Check asks one dependency whether it answers.
type Check struct {
	Name  string
	Probe func(context.Context) error
}

// Health probes the hard dependencies of a process in the background and answers from memory.
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
	answered bool // ever
	failures int
	reason   string // of the last failure; "" when its words may hold anything
}

// Reason is an error whose words are safe to show to anyone who may look at /health: they hold nothing of a request, a
// row or a secret.
type Reason interface {
	error
	Reason() string
}

// NewHealth returns a health that is not ready until each check succeeded once.
func NewHealth(log *slog.Logger, checks ...Check) *Health {
	return &Health{checks: checks, log: log, states: make([]state, len(checks)), notes: map[string]string{}}
}

// Add adds a check; before Run.
func (h *Health) Add(check Check) {
	h.checks, h.states = append(h.checks, check), append(h.states, state{})
}

// Drain makes the process not ready for good.
func (h *Health) Drain() { h.draining.Store(true) }

// Draining reports whether the process is about to stop.
func (h *Health) Draining() bool { return h.draining.Load() }

// Run probes until ctx ends.
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
		h.log.Warn("dependency does not answer yet", "dependency", h.checks[i].Name, "error", err.Error())
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

// Reasons says why dependencies are down, where that is known in words of our own.
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

// Note has /health show text about a dependency with which the process continues; "" takes it away. A new text is
// logged.
func (h *Health) Note(name, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.notes[name] == text {
		return
	}
	if h.notes[name] = text; text != "" {
		h.log.Warn("a dependency should be looked at", "dependency", name, "note", text)
	}
}

// Notes returns what was noted.
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

// Dependencies returns "up" or "down" for each check.
func (h *Health) Dependencies() map[string]string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	out := make(map[string]string, len(h.checks))
	for i, check := range h.checks {
		out[check.Name] = "down"
		if h.states[i].up {
			out[check.Name] = "up"
		}
	}
	return out
}

// Healthy reports whether every dependency is up.
func (h *Health) Healthy() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, s := range h.states {
		if !s.up {
			return false
		}
	}
	return true
}

// Ready reports whether the process should get traffic.
func (h *Health) Ready() bool { return !h.Draining() && h.Healthy() }
