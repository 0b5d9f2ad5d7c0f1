// Package app owns what the gateway process consists of.
package app

import (
	"errors"
	"net"
	"strconv"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/pkg/tlsfiles"
)

// Prefix of every variable of the gateway.
const Prefix = "GATEWAY_"

// Config is every setting of the gateway.
type Config struct {
	Port         int `env:"PORT" envDefault:"8090"`          // public listener
	InternalPort int `env:"INTERNAL_PORT" envDefault:"8091"` // services only

	// Addresses of the services, host:port. An area without one answers 501.
	SearchAddr        string `env:"SEARCH_ADDR"`
	ExternalEditAddr  string `env:"EXTERNAL_EDIT_ADDR"`
	RerunAddr         string `env:"RERUN_ADDR"`
	TaskQueueAddr     string `env:"TASKQUEUE_ADDR"`
	CellCounterAddr   string `env:"CELL_COUNTER_ADDR"`
	CalloutAddr       string `env:"CALLOUT_ADDR"`
	BillSplitAddr     string `env:"BILL_SPLIT_ADDR"`
	NotificationsAddr string `env:"NOTIFICATIONS_ADDR"`

	ServiceTokenSecret config.Secret `env:"SERVICE_TOKEN_SECRET"`
	// TrustedOrigins may send cookie-authenticated writes: scheme://host[:port], comma separated.
	TrustedOrigins []string `env:"TRUSTED_ORIGINS"`

	// DemoSignIn is a file with people that anybody may be signed in as, at /: for trying out alone.
	DemoSignIn string `env:"DEMO_SIGN_IN"`

	// TLS encrypts the connections to the services.
	TLS tlsfiles.Config `envPrefix:"TLS_"`
	// InternalTLS encrypts the internal listener, with the certificate of TLS.
	InternalTLS bool `env:"INTERNAL_TLS" envDefault:"false"`
	// PublicTLS encrypts the public listener, where no proxy in front of it does.
	PublicTLS tlsfiles.Certificate `envPrefix:"PUBLIC_TLS_"`

	// CellsFile makes this the router in front of several installations: a JSON file says which laboratory's host is in
	// which. Nothing else is served then.
	CellsFile string `env:"CELLS_FILE"`

	Admin     httpserver.Config
	Lifecycle lifecycle.Config
	Garbage   service.GarbageCollection
	Telemetry telemetry.Config
}

// Load reads the settings from environ.
func Load(environ []string) (Config, error) {
	cfg := Config{Admin: httpserver.Config{AdminPort: 8092}}
	return cfg, config.Load(Prefix, &cfg, environ)
}

// Validate refuses to start an internal listener that no one could use, and encryption without a certificate.
func (c *Config) Validate() error {
	problems := []error{
		c.TLS.NeededBy("INTERNAL_TLS", c.InternalTLS), c.TLS.NeededBy("ADMIN_TLS", c.Admin.AdminTLS),
	}
	if c.DemoSignIn != "" && c.Telemetry.Production() {
		problems = append(problems, errors.New("GATEWAY_DEMO_SIGN_IN lets anybody in: leave it empty in production"))
	}
	if c.CellsFile == "" {
		auth := authn.Config{ServiceTokenSecret: c.ServiceTokenSecret}
		problems = append(problems, auth.Validate())
	}
	return errors.Join(problems...)
}

// addresses maps the names of the areas to the configured addresses.
func (c Config) addresses() map[string]string {
	return map[string]string{
		"search":        c.SearchAddr,
		"externaledit":  c.ExternalEditAddr,
		"rerun":         c.RerunAddr,
		"taskqueue":     c.TaskQueueAddr,
		"cellcounter":   c.CellCounterAddr,
		"callout":       c.CalloutAddr,
		"billsplit":     c.BillSplitAddr,
		"notifications": c.NotificationsAddr,
	}
}

// process returns the settings that every process has.
func (c *Config) process() service.Config {
	return service.Config{
		GRPC: grpcserver.Config{TLS: c.TLS}, Admin: c.Admin, Lifecycle: c.Lifecycle, Telemetry: c.Telemetry,
		Auth: authn.Config{ServiceTokenSecret: c.ServiceTokenSecret},
	}
}

// address returns where a listener listens.
func (c *Config) address(port int) string { return net.JoinHostPort(c.Admin.Host, strconv.Itoa(port)) }
