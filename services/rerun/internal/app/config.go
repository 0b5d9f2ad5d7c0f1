// Package app owns the rerun process: its settings and the list of what runs in it.
package app

import (
	"errors"
	"net/url"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mongo"
	"github.com/labplatform/labplatform/services/rerun/internal/sweep"
)

// Prefix of the service's variables.
const Prefix = "RERUN_"

// Default ports.
const (
	defaultGRPCPort  = 9003
	defaultAdminPort = 8003
)

// Config holds every setting of the service.
type Config struct {
	service.Config
	Garbage service.GarbageCollection
	DB      mysqldb.Config `envPrefix:"DB_"`
	KV      redisdb.Config `envPrefix:"KV_"`
	Mongo   mongo.Config   `envPrefix:"MONGO_"`
	Outbox  outbox.Config  `envPrefix:"OUTBOX_"`
	Sweep   sweep.Config   `envPrefix:"SWEEP_"`

	// DocumentStore false makes every operation answer 400.
	DocumentStore bool `env:"DOCUMENT_DB_ENABLED" absolute:"true" envDefault:"true"`
	// WebhookURL is the gateway's internal listener, as the task queue reaches it.
	WebhookURL    string `env:"WEBHOOK_URL" absolute:"true" envDefault:"http://127.0.0.1:8091"`
	TaskqueueAddr string `env:"TASKQUEUE_ADDR" envDefault:"127.0.0.1:9004"`
	// CalloutAddr may be empty: then changed reports wait in the outbox for a deployment that has a callout.
	CalloutAddr string `env:"CALLOUT_ADDR"`
	// CDCAddr may be empty: then the search index is refreshed by change capture alone.
	CDCAddr string `env:"CDC_ADDR"`
	// ExternalEditAddr may be empty: then no one is warned of a report that is open in an editor.
	ExternalEditAddr string `env:"EXTERNAL_EDIT_ADDR"`
}

// Load reads the settings from environ.
func Load(environ []string) (Config, error) {
	cfg := Config{}
	cfg.Ports(defaultGRPCPort, defaultAdminPort)
	err := config.Load(Prefix, &cfg, environ)
	return cfg, err
}

// Validate refuses a webhook address that the task queue could not post to.
func (c *Config) Validate() error {
	var problems []error
	u, err := url.Parse(c.WebhookURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" {
		problems = append(problems, errors.New("WEBHOOK_URL must be the origin of the gateway's internal listener, like"+
			" http://gateway:8091"))
	}
	if c.TaskqueueAddr == "" {
		problems = append(problems, errors.New("RERUN_TASKQUEUE_ADDR must be host:port of the task queue"))
	}
	return errors.Join(problems...)
}
