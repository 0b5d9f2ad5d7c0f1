// Package app assembles the callout process: its settings, servers and loops.
package app

import (
	"errors"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/livefeed"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/callout/internal/reap"
	"github.com/labplatform/labplatform/services/callout/internal/sweep"
)

// Config holds every setting of the service.
type Config struct {
	service.Config
	service.Stores
	Outbox outbox.Config `envPrefix:"OUTBOX_"`
	Reap   reap.Config   `envPrefix:"REAP_"`
	Sweep  sweep.Config  `envPrefix:"SWEEP_"`

	// EscalateAfter is how long a critical result may wait before it is escalated. A laboratory may have its own setting.
	EscalateAfter time.Duration `env:"ESCALATE_AFTER" envDefault:"30m"`
	// EscalateMost is the maximum number of escalations per run. A laboratory may have its own setting.
	EscalateMost int `env:"ESCALATE_MOST" envDefault:"3"`
	// RemindAfter is the time between reminders after the last escalation; 0: never. A laboratory may have its own
	// setting.
	RemindAfter time.Duration `env:"REMIND_AFTER" envDefault:"8h"`
	// SettingsPermission lets users who are not administrators change the laboratory's settings; empty: administrators
	// only.
	SettingsPermission string `env:"SETTINGS_PERMISSION" envDefault:"callout_configure"`
	Live               livefeed.Config
	service.Webhook
	service.Taskqueue
	// NotificationsAddr is the address of the notification service. If it is empty, notices stay in the outbox.
	NotificationsAddr string `env:"NOTIFICATIONS_ADDR"`
}

// Validate rejects escalation and reminder settings out of range.
func (c *Config) Validate() error {
	var problems []error
	if c.EscalateAfter < time.Second {
		problems = append(problems, fmt.Errorf("CALLOUT_ESCALATE_AFTER is %v: give at least 1s", c.EscalateAfter))
	}
	if c.EscalateMost < 1 {
		problems = append(problems, fmt.Errorf("CALLOUT_ESCALATE_MOST is %d: give at least 1", c.EscalateMost))
	}
	if c.RemindAfter < 0 {
		problems = append(problems, fmt.Errorf("CALLOUT_REMIND_AFTER is %v: give at least 0", c.RemindAfter))
	}
	return errors.Join(problems...)
}
