// Package health serves the health of the search service: GET /health/live, /health/ready and /health.
package health

import (
	"encoding/json"
	"net/http"

	"github.com/labplatform/labplatform/services/search/internal/freshness"
)

// Names of the dependencies in response bodies and in the checks of httpserver.NewHealth.
const (
	SearchIndex        = "search_index"
	KeyValueCache      = "key_value_cache"
	RelationalDatabase = "relational_database"
)

// Dependencies reports whether the service's dependencies respond. *httpserver.Health is one.
type Dependencies interface {
	// Dependencies returns "up" or "down" for each dependency by name.
	Dependencies() map[string]string
	Healthy() bool
	Ready() bool
	Reasons() []string // reasons why dependencies are down, without confidential data
}

// Freshness reports the age of the data.
type Freshness interface{ Report() freshness.Report }

type live struct {
	Status string `json:"status"`
}

type ready struct {
	Status       string            `json:"status"`
	Dependencies map[string]string `json:"dependencies"`
	Reasons      []string          `json:"reasons,omitempty"`
}

type overall struct {
	ready

	CDC freshness.Report `json:"cdc"`
}

// Register adds the three paths to mux, each with and without a trailing slash, because probes use both. They need no
// credentials.
func Register(mux *http.ServeMux, d Dependencies, f Freshness) {
	get := func(path string, handler http.HandlerFunc) {
		mux.HandleFunc("GET "+path, handler)
		mux.HandleFunc("GET "+path+"/{$}", handler)
	}
	get("/health/live", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, live{"alive"})
	})
	get("/health/ready", func(w http.ResponseWriter, _ *http.Request) {
		if !d.Ready() {
			write(w, http.StatusServiceUnavailable, ready{"not_ready", d.Dependencies(), d.Reasons()})
			return
		}
		write(w, http.StatusOK, ready{"ready", d.Dependencies(), nil})
	})
	// The status is always 200, because alerts evaluate the body. Outdated data marks the service as degraded but does not
	// remove it from the load balancer.
	get("/health", func(w http.ResponseWriter, _ *http.Request) {
		body := overall{ready{"healthy", d.Dependencies(), d.Reasons()}, f.Report()}
		if !d.Healthy() || body.CDC.Status != freshness.Healthy {
			body.Status = "degraded"
		}
		write(w, http.StatusOK, body)
	})
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails if the client has disconnected
}
