// Package app assembles the notifications process: its settings, servers and loops.
package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/fcm"
	"github.com/labplatform/labplatform/pkg/livefeed"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/sweep"
)

// Config holds every setting of the service.
type Config struct {
	service.Config
	service.Stores
	Outbox outbox.Config `envPrefix:"OUTBOX_"`
	Sweep  sweep.Config  `envPrefix:"SWEEP_"`

	service.Taskqueue
	// Zone is the prefix of push topics.
	Zone string `env:"DEPLOYMENT_ZONE" envDefault:"IN"`
	// TopicKey makes the names of push topics impossible to guess.
	TopicKey config.Secret `env:"TOPIC_KEY"`
	// BulkPermission is the permission with which a lab user who is not an administrator may turn
	// notification types on or off for the laboratory.
	BulkPermission string `env:"BULK_PERMISSION" envDefault:"notification_configure"`
	// PushProvider is fcm; mailbox, which stores topics without a call of a provider; or off, which rejects subscriptions.
	PushProvider string `env:"PUSH_PROVIDER" envDefault:"mailbox"`
	// FCMCredentials is the JSON key file of a Google service account.
	FCMCredentials config.Secret `env:"FCM_CREDENTIALS"`
	Live           livefeed.Config
}

// Validate rejects zones that topics cannot have as a prefix, and a push provider without its credentials.
func (c *Config) Validate() error {
	var problems []error
	if _, err := notification.ParseZone(c.Zone); err != nil {
		problems = append(problems, fmt.Errorf("DEPLOYMENT_ZONE: %w", err))
	}
	return errors.Join(append(problems, c.validateTopicKey(), c.validatePush())...)
}

// validateTopicKey checks the keys, among which Unkeyed is allowed. A key is required in production.
func (c *Config) validateTopicKey() error {
	keys := slices.DeleteFunc(strings.Split(c.TopicKey.Reveal(), ","), func(key string) bool {
		return key == notification.Unkeyed
	})
	secret := config.Secret(strings.Join(keys, ","))
	if !secret.IsSet() && c.Telemetry.Production() {
		return errors.New("TOPIC_KEY must be set: without it the names of push topics can be guessed." +
			" Use unkeyed,KEY where devices were subscribed by version 1.0.0")
	}
	return append(c.Auth.Keys(), config.Keys{{"TOPIC_KEY", secret}}...).Check()
}

func (c *Config) validatePush() error {
	switch c.PushProvider {
	case pushSimulated:
		if c.Telemetry.Production() {
			return errors.New("PUSH_PROVIDER is mailbox, which subscribes no device: use fcm in production, or off to" +
				" refuse subscriptions")
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
		return fmt.Errorf("PUSH_PROVIDER is %q: use %s, %s or %s", c.PushProvider, pushSimulated, pushFCM, pushOff)
	}
}
