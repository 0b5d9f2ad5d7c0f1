// Package app owns the callout process: its settings and the list of what runs in it.
package app

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/callout/internal/reap"
	"github.com/labplatform/labplatform/services/callout/internal/sweep"
)

// Prefix of the service's variables.
const Prefix = "CALLOUT_"

// Default ports.
const (
	defaultGRPCPort  = 9006
	defaultAdminPort = 8006
)

// Config holds every setting of the service.
type Config struct {
	service.Config
	DB     mysqldb.Config `envPrefix:"DB_"`
	KV     redisdb.Config `envPrefix:"KV_"`
	Outbox outbox.Config  `envPrefix:"OUTBOX_"`
	Reap   reap.Config    `envPrefix:"REAP_"`
	Sweep  sweep.Config   `envPrefix:"SWEEP_"`

	// EscalateAfter is how long a critical result may wait before someone is told that no one called; a laboratory may
	// have its own.
	EscalateAfter time.Duration `env:"ESCALATE_AFTER" envDefault:"30m"`
	// EscalateMost is how often that is repeated.
	EscalateMost int `env:"ESCALATE_MOST" envDefault:"3"`
	// SettingsPermission lets users who are no administrators change the laboratory's settings; empty: no one else may.
	SettingsPermission string `env:"SETTINGS_PERMISSION" envDefault:"callout_configure"`
	// EventStreamSeconds ends a stream of the board; the browser comes back, and its login is looked at again.
	EventStreamSeconds int `env:"EVENT_STREAM_SECONDS" envDefault:"900"`
	// WebhookURL is the gateway's internal listener, as the task queue reaches it.
	WebhookURL    string `env:"WEBHOOK_URL" absolute:"true" envDefault:"http://127.0.0.1:8091"`
	TaskqueueAddr string `env:"TASKQUEUE_ADDR" envDefault:"127.0.0.1:9004"`
	// NotificationsAddr may be empty: then notices wait in the outbox for a deployment that has notifications.
	NotificationsAddr string `env:"NOTIFICATIONS_ADDR"`
}

// Load reads the settings from environ.
func Load(environ []string) (Config, error) {
	cfg := Config{}
	cfg.Ports(defaultGRPCPort, defaultAdminPort)
	err := config.Load(Prefix, &cfg, environ)
	return cfg, err
}

// Validate refuses deadlines and addresses that cannot work.
func (c *Config) Validate() error {
	var problems []error
	if c.EscalateAfter < time.Second {
		problems = append(problems, fmt.Errorf("CALLOUT_ESCALATE_AFTER is %v: give at least 1s", c.EscalateAfter))
	}
	if c.EscalateMost < 1 {
		problems = append(problems, fmt.Errorf("CALLOUT_ESCALATE_MOST is %d: give at least 1", c.EscalateMost))
	}
	u, err := url.Parse(c.WebhookURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" {
		problems = append(
			problems,
			errors.New("WEBHOOK_URL must be the origin of the gateway's internal listener, like http://gateway:8091"),
		)
	}
	if c.TaskqueueAddr == "" {
		problems = append(problems, errors.New("CALLOUT_TASKQUEUE_ADDR must be host:port of the task queue"))
	}
	if c.EventStreamSeconds <= 0 {
		problems = append(
			problems,
			fmt.Errorf("CALLOUT_EVENT_STREAM_SECONDS is %d: use a number above 0", c.EventStreamSeconds),
		)
	}
	return errors.Join(problems...)
}
