// Package telemetry provides structured logs, OTLP traces, Prometheus metrics and error reports of a service. They are
// linked by ids and contain nothing about patients.
package telemetry

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/labplatform/labplatform/pkg/config"
)

// Config holds the documented variables. An empty endpoint turns its part off.
type Config struct {
	Environment     string        `env:"ENVIRONMENT" envDefault:"dev" danger:"dev|e2e|pytest: the mailbox and the demo sign-in are allowed; use production"`
	LogLevel        slog.Level    `env:"LOG_LEVEL" envDefault:"INFO"`
	LogJSON         bool          `env:"LOG_JSON" envDefault:"true"`
	OTLPEndpoint    string        `env:"OPENTELEMETRY_ENDPOINT"`
	OTLPAPIKey      config.Secret `env:"OPENTELEMETRY_API_KEY"`
	Region          string        `env:"DEPLOYMENT_REGION" envDefault:"ap-south-1"`
	ErrorReportDSN  config.Secret `env:"ERROR_REPORTING_DSN"`
	TraceSampleRate float64       `env:"ERROR_REPORTING_SAMPLE_RATE" envDefault:"1.0"`
}

// Production reports whether the deployment may serve real patients. Staging often has a copy of their data, so it is
// treated like production.
func (c Config) Production() bool { return c.Environment == "production" || c.Environment == "staging" }

// otlpURL returns the endpoint with its scheme. host:port without a scheme, as collectors document it, means plain
// HTTP.
func (c Config) otlpURL() string {
	if strings.Contains(c.OTLPEndpoint, "://") {
		return c.OTLPEndpoint
	}
	return "http://" + c.OTLPEndpoint
}

// Validate returns an error for an unknown environment, an invalid endpoint and a rate outside 0 to 1.
func (c *Config) Validate() error {
	switch c.Environment {
	case "dev", "e2e", "pytest", "staging", "production":
	default:
		return fmt.Errorf("ENVIRONMENT is %q: use dev, e2e, pytest, staging or production", c.Environment)
	}
	if u, err := url.Parse(c.otlpURL()); c.OTLPEndpoint != "" && (err != nil || u.Port() == "" || u.Hostname() == "") {
		return fmt.Errorf(
			"OPENTELEMETRY_ENDPOINT is %q: use host:port, http://host:port or https://host:port",
			c.OTLPEndpoint,
		)
	}
	if c.TraceSampleRate < 0 || c.TraceSampleRate > 1 {
		return fmt.Errorf("ERROR_REPORTING_SAMPLE_RATE is %v: use 0 to 1", c.TraceSampleRate)
	}
	return nil
}
