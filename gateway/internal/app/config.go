// Package app assembles the gateway process.
package app

import (
	"errors"
	"net"
	"net/url"
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

// Prefix is the prefix of the gateway's variables.
const Prefix = "GATEWAY_"

// Config holds the settings of the gateway.
type Config struct {
	Port         int `env:"PORT" envDefault:"8090"`          // public listener
	InternalPort int `env:"INTERNAL_PORT" envDefault:"8091"` // listener for services only

	// Addresses of the services, host:port. An area without an address responds with 501.
	SearchAddr        string `env:"SEARCH_ADDR"`
	ExternalEditAddr  string `env:"EXTERNAL_EDIT_ADDR"`
	RerunAddr         string `env:"RERUN_ADDR"`
	TaskQueueAddr     string `env:"TASKQUEUE_ADDR"`
	CellCounterAddr   string `env:"CELL_COUNTER_ADDR"`
	CalloutAddr       string `env:"CALLOUT_ADDR"`
	BillSplitAddr     string `env:"BILL_SPLIT_ADDR"`
	NotificationsAddr string `env:"NOTIFICATIONS_ADDR"`

	ServiceTokenSecret config.Secret `env:"SERVICE_TOKEN_SECRET"`
	// TrustedOrigins may read and write with the user's cookie: scheme://host[:port], separated by commas.
	TrustedOrigins []string `env:"TRUSTED_ORIGINS"`

	// DemoSignIn is a file with people; at / any visitor may sign in as one of them. It is for trying out the platform
	// locally.
	DemoSignIn string `env:"DEMO_SIGN_IN" danger:"*: any visitor may sign in"`

	// SignOutURL is where the platform's login ends a session. Pages link to it; without it they have no link.
	SignOutURL string `env:"SIGN_OUT_URL"`

	// TLS encrypts the connections to the services.
	TLS tlsfiles.Config `envPrefix:"TLS_"`
	// InternalTLS encrypts the internal listener with the certificate of TLS.
	InternalTLS bool `env:"INTERNAL_TLS" envDefault:"false" danger:"false: calls of services are not encrypted"`
	// PublicTLS encrypts the public listener, if no proxy in front of it does.
	PublicTLS tlsfiles.Certificate `envPrefix:"PUBLIC_TLS_"`

	// CellsFile turns the gateway into a router in front of several cells. It is a JSON file with the cell of each
	// laboratory's host. Nothing else is served then.
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

// Validate returns an error for an invalid service token secret, unless the gateway routes to cells, for encryption
// without a certificate, for an invalid SIGN_OUT_URL, and for a demo sign-in in production.
func (c *Config) Validate() error {
	problems := []error{
		c.TLS.NeededBy("INTERNAL_TLS", c.InternalTLS), c.TLS.NeededBy("ADMIN_TLS", c.Admin.AdminTLS),
	}
	if c.DemoSignIn != "" && c.Telemetry.Production() {
		problems = append(problems, errors.New("GATEWAY_DEMO_SIGN_IN lets any visitor sign in: leave it empty in production"))
	}
	if u, err := url.Parse(c.SignOutURL); err != nil || u.Scheme != "" && u.Scheme != "https" && u.Scheme != "http" {
		problems = append(problems, errors.New("GATEWAY_SIGN_OUT_URL must be a path or an http or https address"))
	}
	if c.CellsFile == "" {
		auth := authn.Config{ServiceTokenSecret: c.ServiceTokenSecret}
		problems = append(problems, auth.Validate())
	}
	return errors.Join(problems...)
}

// addresses returns the configured addresses by area name.
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

func (c *Config) address(port int) string { return net.JoinHostPort(c.Admin.Host, strconv.Itoa(port)) }
