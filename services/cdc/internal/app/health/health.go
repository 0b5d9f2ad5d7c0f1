// Package health reports the state of the consumer at /health and at /ready. An idle consumer is healthy; a stuck one
// is not.
package health

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
	"github.com/labplatform/labplatform/services/cdc/internal/consume"
)

const (
	// pollWindow is the maximum age of the last fetch: even an idle consumer fetches twice a second.
	pollWindow = 30 * time.Second
	// successWindow is how long a consumer with a backlog may go without finishing a batch before it is not ready.
	successWindow = time.Minute
	// stuckAfter is when a batch that neither ends nor fails counts as deadlocked: several times the timeout of one
	// attempt.
	stuckAfter = 2 * time.Minute
)

// Membership returns the state of the consumer group.
type Membership interface{ State() broker.State }

// Partitions returns the state of the claimed partitions.
type Partitions interface {
	Partitions() []consume.Partition
	LastSuccess() time.Time
}

// Dependencies returns which stores are available.
type Dependencies interface {
	Dependencies() map[string]string // "up" or "down"
	Ready() bool
	Reasons() []string // reasons for unavailability, without internal details
	Notes() []string   // problems for the operator that do not stop the service
}

// Health computes the health and readiness of the consumer.
type Health struct {
	Group  Membership
	Status Partitions
	Stores Dependencies
	Phase  func(context.Context) string // "running", "migration", or "unknown"
	Clock  clock.Clock
}

// report is the response body of both paths. Fields that do not apply are omitted.
type report struct {
	Status       string            `json:"status"`
	Phase        string            `json:"phase"`
	LastPoll     float64           `json:"last_poll_seconds_ago"`
	LastSuccess  *float64          `json:"last_success_seconds_ago"`
	Lag          int64             `json:"consumer_lag"`
	Partitions   int               `json:"partitions"`
	Dependencies map[string]string `json:"dependencies"`
	Reasons      []string          `json:"reasons,omitempty"`
	Notes        []string          `json:"notes,omitempty"`
}

// Handle adds GET /health and GET /ready, and the two paths that every service of the platform has.
func (h *Health) Handle(mux *http.ServeMux) {
	mux.HandleFunc("GET /health", h.health)
	mux.HandleFunc("GET /ready", h.ready)
	mux.HandleFunc("GET /health/ready", h.ready)
	mux.HandleFunc("GET /health/live", h.live)
}

// live is the liveness probe. It fails only if a restart helps: for a batch that neither ends nor fails, but not for
// unavailable brokers.
func (h *Health) live(w http.ResponseWriter, _ *http.Request) {
	if stuck := h.stuck(); len(stuck) > 0 {
		write(w, http.StatusServiceUnavailable, map[string]any{"status": "stuck", "reasons": stuck})
		return
	}
	write(w, http.StatusOK, map[string]string{"status": "alive"})
}

func (h *Health) health(w http.ResponseWriter, r *http.Request) {
	h.answer(w, r, "healthy", "unhealthy", h.unhealthy())
}

func (h *Health) ready(w http.ResponseWriter, r *http.Request) {
	h.answer(w, r, "ready", "not_ready", append(h.unhealthy(), h.notReady()...))
}

func (h *Health) answer(w http.ResponseWriter, r *http.Request, good, bad string, reasons []string) {
	body, status := h.report(r.Context()), http.StatusOK
	body.Status, body.Reasons = good, reasons
	if len(reasons) > 0 {
		body.Status, status = bad, http.StatusServiceUnavailable
	}
	write(w, status, body)
}

func (h *Health) report(ctx context.Context) report {
	now, state := h.Clock.Now(), h.Group.State()
	body := report{Phase: h.Phase(ctx), LastPoll: now.Sub(state.LastPoll).Seconds(), Dependencies: h.Stores.Dependencies(),
		Notes: h.Stores.Notes()}
	if last := h.Status.LastSuccess(); !last.IsZero() {
		ago := now.Sub(last).Seconds()
		body.LastSuccess = &ago
	}
	for _, p := range h.Status.Partitions() {
		body.Lag += p.Lag
		body.Partitions++
	}
	return body
}

// unhealthy returns the reasons to inspect or restart this process.
func (h *Health) unhealthy() []string {
	var reasons []string
	if ago := h.Clock.Now().Sub(h.Group.State().LastPoll); ago > pollWindow {
		reasons = append(reasons, fmt.Sprintf("no fetch for %.0f s", ago.Seconds()))
	}
	return append(reasons, h.stuck()...)
}

// stuck returns the batches that neither end nor fail.
func (h *Health) stuck() []string {
	var reasons []string
	for _, p := range h.Status.Partitions() {
		if p.Fault == nil && p.Busy > stuckAfter {
			reasons = append(reasons, fmt.Sprintf("%s/%d: one batch for %.0f s", p.Topic, p.Partition, p.Busy.Seconds()))
		}
	}
	return reasons
}

// notReady returns the reasons why no messages are processed at present.
func (h *Health) notReady() []string {
	var reasons []string
	state := h.Group.State()
	if !state.Member {
		reasons = append(reasons, "not a member of the consumer group")
	}
	if state.Fault != nil && state.Fault.Operator {
		reasons = append(reasons, state.Fault.Error())
	}
	return append(append(reasons, h.storesDown()...), h.stalled()...)
}

// storesDown returns the names of unavailable stores. Stores also count as unavailable before their first probe and
// while the process stops.
func (h *Health) storesDown() []string {
	if h.Stores.Ready() {
		return nil
	}
	var reasons []string
	for name, state := range h.Stores.Dependencies() {
		if state != "up" {
			reasons = append(reasons, name+" is "+state)
		}
	}
	if len(reasons) == 0 {
		return []string{"the process is stopping"}
	}
	slices.Sort(reasons)
	return append(reasons, h.Stores.Reasons()...)
}

// stalled returns the partitions that wait for an operator, and backlogs without progress.
func (h *Health) stalled() []string {
	var reasons []string
	lag := int64(0)
	for _, p := range h.Status.Partitions() {
		lag += p.Lag
		switch {
		case p.Fault == nil:
		case p.Fault.Operator:
			reasons = append(reasons, fmt.Sprintf("%s/%d is paused: %v", p.Topic, p.Partition, p.Fault))
		case p.Busy > successWindow:
			reasons = append(reasons,
				fmt.Sprintf("%s/%d has been tried for %.0f s: %v", p.Topic, p.Partition, p.Busy.Seconds(), p.Fault))
		}
	}
	last := h.Status.LastSuccess()
	if since := h.Group.State().Since; last.Before(since) {
		last = since // a new member gets the full time
	}
	if ago := h.Clock.Now().Sub(last); lag > 0 && ago > successWindow {
		reasons = append(reasons, fmt.Sprintf("%d records wait and none was processed for %.0f s", lag, ago.Seconds()))
	}
	return reasons
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails if the client has disconnected
}
