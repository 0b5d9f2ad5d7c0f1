// Package httpserver implements the administration listener of every process (/health/live, /health/ready, /health,
// /metrics and, if enabled, /debug/pprof/), and starts and stops HTTP listeners.
package httpserver

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Config holds the settings of the administration listener.
type Config struct {
	Host      string `env:"HOST" envDefault:"0.0.0.0"`
	AdminPort int    `env:"ADMIN_PORT"`
	Profiling bool   `env:"PROFILING" envDefault:"false" danger:"true: profiles show what is in memory"`
	// AdminTLS encrypts the listener with the certificate that the process presents to other services.
	AdminTLS bool `env:"ADMIN_TLS" envDefault:"false" danger:"false: the administration port is not encrypted"`
}

// Address returns host:port of the administration listener.
func (c Config) Address() string { return net.JoinHostPort(c.Host, fmt.Sprint(c.AdminPort)) }

// Admin returns a mux with the health, metrics and profiling paths. Callers may add pages.
func Admin(cfg Config, health *Health, registry *prometheus.Registry) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health/live", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{"status": "alive"})
	})
	mux.HandleFunc("GET /health/ready", func(w http.ResponseWriter, _ *http.Request) {
		body := health.body("ready")
		if health.Ready() {
			writeJSON(w, http.StatusOK, body)
			return
		}
		body["status"] = "not_ready"
		writeJSON(w, http.StatusServiceUnavailable, body)
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		body := health.body("healthy")
		if !health.Healthy() {
			body["status"] = "degraded"
		}
		writeJSON(w, http.StatusOK, body)
	})
	mux.Handle("GET /metrics", Metrics(registry))
	cfg.Profiles(mux)
	return mux
}

// body returns the body of the health paths. It contains reasons and notes only if there are any.
func (h *Health) body(status string) map[string]any {
	body := map[string]any{"status": status, "dependencies": h.Dependencies()}
	if reasons := h.Reasons(); len(reasons) > 0 {
		body["reasons"] = reasons
	}
	if notes := h.Notes(); len(notes) > 0 {
		body["notes"] = notes
	}
	return body
}

// Metrics returns a handler that serves the metrics of registry; clients that accept OpenMetrics, such as Prometheus,
// also get exemplars.
func Metrics(registry *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry, EnableOpenMetrics: true})
}

// Profiles adds /debug/pprof/ to mux if profiling is enabled.
func (c Config) Profiles(mux *http.ServeMux) {
	if !c.Profiling {
		return
	}
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
}

// URL returns the listener's base address on a host.
func (c Config) URL(host string) string {
	scheme := "http"
	if c.AdminTLS {
		scheme = "https"
	}
	return fmt.Sprintf("%s://%s", scheme, net.JoinHostPort(host, fmt.Sprint(c.AdminPort)))
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails only if the client has disconnected
}
