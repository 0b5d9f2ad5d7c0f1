// Package app owns the notifications process: its settings and the list of what runs in it.
package app

import (
	"errors"
	"fmt"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/fcm"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/sweep"
)

// Prefix of the service's variables.
const Prefix = "NOTIFICATIONS_"

// Default ports.
const (
	defaultGRPCPort  = 9008
	defaultAdminPort = 8008
)

// Config holds every setting of the service.
type Config struct {
	service.Config
	DB     mysqldb.Config `envPrefix:"DB_"`
	KV     redisdb.Config `envPrefix:"KV_"`
	Outbox outbox.Config  `envPrefix:"OUTBOX_"`
	Sweep  sweep.Config   `envPrefix:"SWEEP_"`

	TaskqueueAddr string `env:"TASKQUEUE_ADDR" envDefault:"127.0.0.1:9004"`
	// Zone begins the names of push topics.
	Zone string `env:"DEPLOYMENT_ZONE" envDefault:"IN"`
	// BulkPermission lets a lab user who is no administrator switch types for the laboratory.
	BulkPermission string `env:"BULK_PERMISSION" envDefault:"notification_configure"`
	// PushProvider is fcm; mailbox, which keeps topics and calls no one; or off, which tells devices so.
	PushProvider string `env:"PUSH_PROVIDER" envDefault:"mailbox"`
	// FCMCredentials is the JSON key file of a service account.
	FCMCredentials config.Secret `env:"FCM_CREDENTIALS"`
	// EventStreamSeconds ends a stream of notifications; the browser comes back, and its login is looked at again.
	EventStreamSeconds int `env:"EVENT_STREAM_SECONDS" envDefault:"900"`
}

// Load reads the settings from environ.
func Load(environ []string) (Config, error) {
	cfg := Config{}
	cfg.Ports(defaultGRPCPort, defaultAdminPort)
	err := config.Load(Prefix, &cfg, environ)
	return cfg, err
}

// Validate refuses zones that no topic may begin with, a missing task queue, and a push provider without its key.
func (c *Config) Validate() error {
	var problems []error
	if _, err := notification.ParseZone(c.Zone); err != nil {
		problems = append(problems, fmt.Errorf("DEPLOYMENT_ZONE: %w", err))
	}
	if c.TaskqueueAddr == "" {
		problems = append(problems, errors.New("TASKQUEUE_ADDR must be host:port of the task queue"))
	}
	if c.EventStreamSeconds <= 0 {
		problems = append(problems, fmt.Errorf("EVENT_STREAM_SECONDS is %d: use a number above 0", c.EventStreamSeconds))
	}
	return errors.Join(append(problems, c.validatePush())...)
}

func (c *Config) validatePush() error {
	switch c.PushProvider {
	case pushMailbox:
		if c.Telemetry.Production() {
			return errors.New("PUSH_PROVIDER is mailbox, with which devices seem subscribed and no telephone rings: " +
				"use fcm in production, or off to tell them so")
		}
		return nil
	case pushOff:
		return nil
	case pushFCM:
		if _, err := fcm.ReadAccount(c.FCMCredentials); err != nil {
			return fmt.Errorf("FCM_CREDENTIALS: %w", err)
		}
		return nil
	default:
		return fmt.Errorf("PUSH_PROVIDER is %q: use %s, %s or %s", c.PushProvider, pushMailbox, pushFCM, pushOff)
	}
}
