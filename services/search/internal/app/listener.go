package app

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labplatform/labplatform/pkg/httpserver"
)

// ListenerConfig holds the settings of the REST port.
type ListenerConfig struct {
	Host string `env:"HOST" envDefault:"127.0.0.1"`
	Port int    `env:"PORT" envDefault:"8000"`
	// PathPrefix is removed from paths that begin with it, such as "/search-service". Paths without the prefix are served
	// too.
	PathPrefix string `env:"PATH_PREFIX"`
	Profiling  bool   `env:"PROFILING" envDefault:"false" danger:"true: profiles show what is in memory"`
	// TLS encrypts the REST port. It uses the certificate that the service presents to other services.
	TLS bool `env:"REST_TLS" envDefault:"false" danger:"false: the REST port is not encrypted, unless a proxy does it"`
}

// Validate rejects prefixes that cannot be the beginning of a path.
func (c *ListenerConfig) Validate() error {
	if c.PathPrefix != "" && (!strings.HasPrefix(c.PathPrefix, "/") || strings.HasSuffix(c.PathPrefix, "/")) {
		return errors.New("PATH_PREFIX must begin with / and not end with it, like /search-service")
	}
	return nil
}

// handler serves health and metrics to machines, and all other paths from area.
func (c *ListenerConfig) handler(health, metrics, area http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/health", health)
	mux.Handle("/health/", health)
	mux.Handle("/metrics", metrics)
	mux.Handle("/metrics/{$}", metrics)
	mux.Handle("/", area)
	httpserver.Config{Profiling: c.Profiling}.Profiles(mux)
	if c.PathPrefix == "" {
		return mux
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if below, ok := strings.CutPrefix(r.URL.Path, c.PathPrefix); ok && (below == "" || below[0] == '/') {
			http.StripPrefix(c.PathPrefix, mux).ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
