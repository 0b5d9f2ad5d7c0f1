package app

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/config"
)

// effect describes the observable effect of a variable.
type effect struct {
	value string   // a value other than the default; $INDEX is the address of a test engine, $CERT its certificate
	with  []string // other settings, used with both the default and value
	seen  func(t *testing.T, w *world, c *Config) string
	want  string // observed with value but not with the default
}

// effects returns an effect for every variable of the interface document. The test fails if one is missing.
func effects() map[string]effect {
	all := map[string]effect{}
	for _, of := range []map[string]effect{
		ofListener(), ofTelemetry(), ofIndex(), ofRanking(), ofFreshness(), ofCache(), ofCredentials(), ofLimits(), ofDatabase(),
	} {
		for name, e := range of {
			all[name] = e
		}
	}
	return all
}

// Not parallel, because telemetry is global.
func TestEveryVariableHasAnEffect(t *testing.T) {
	known := effects()
	var names []string
	for _, name := range variables(t) {
		if _, ok := known[name]; !ok && !slices.Contains(elsewhere, name) {
			t.Errorf("SEARCH_%s has no test of its effect", name)
		}
		names = append(names, name)
	}
	for name, e := range known {
		if !slices.Contains(names, name) {
			t.Errorf("there is no variable SEARCH_%s", name)
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			byDefault := e.seen(t, w, w.load(t, e.with...))
			got := e.seen(t, w, w.load(t, append(slices.Clone(e.with), name+"="+e.value)...))
			want := w.place.Replace(e.want)
			if !strings.Contains(got, want) || strings.Contains(byDefault, want) {
				t.Errorf("with %s there is %q, without %q; want %q in the first alone", e.value, got, byDefault, want)
			}
		})
	}
}

// elsewhere lists the variables that are not in the interface document. They are tested in the packages that define
// them: pkg/grpcserver, pkg/httpserver, pkg/lifecycle, pkg/service, pkg/authn and pkg/tlsfiles; PATH_PREFIX is tested
// in this package.
var elsewhere = []string{
	"PATH_PREFIX", "PROFILING", "GRPC_PORT", "MAX_IN_FLIGHT", "MAX_STREAMS", "DEADLINE_SECONDS", "MAX_MESSAGE_BYTES", "FURTHER_CALLERS",
	"TLS_CA", "TLS_CERT", "TLS_KEY", "REST_TLS", "KV_TLS", "KV_TLS_CA", "KV_TLS_CERT", "KV_TLS_KEY", "DB_TLS", "DB_TLS_CA", "DB_TLS_CERT", "DB_TLS_KEY",
	"DRAIN_DELAY_SECONDS", "STOP_TIMEOUT_SECONDS", "SERVICE_TOKEN_SECRET", "AUTH_AUDIENCE",
	"GOGC",
}

// variables returns the names of all variables of the service without their prefix.
func variables(t *testing.T) []string {
	t.Helper()
	cfg := newWorld(t).load(t)
	var table strings.Builder
	if err := config.Print(&table, Prefix, cfg); err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(table.String()) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name = strings.TrimPrefix(name, Prefix); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// load reads settings like the process. If they are rejected, it returns the error.
func (w *world) load(t *testing.T, settings ...string) *Config {
	t.Helper()
	environ := []string{Prefix + "SERVICE_TOKEN_SECRET=" + strings.Repeat("s", 32)}
	for _, setting := range settings {
		environ = append(environ, Prefix+w.place.Replace(setting))
	}
	cfg, err := Load(environ)
	if err != nil {
		t.Fatal(fmt.Errorf("%q: %w", settings, err))
	}
	return &cfg
}
