package limit

import (
	"errors"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/redisdb"
)

// Config holds the documented variables; embed it with envPrefix "RATE_LIMIT_".
type Config struct {
	// KVURL is the URL of the cache that holds the mode; see redisdb.OpenURL. If it is empty, the mode is always normal.
	KVURL              config.Secret `env:"KV_URL"`
	PerMinute          int           `env:"PER_MINUTE" envDefault:"120"`
	DegradedPerMinute  int           `env:"DEGRADED_PER_MINUTE" envDefault:"30"`
	EmergencyPerMinute int           `env:"EMERGENCY_PER_MINUTE" envDefault:"5"`
	// ReadsPerMinute is how many patients a user may open per minute, in all modes.
	ReadsPerMinute int `env:"READS_PER_MINUTE" envDefault:"300"`
	// ConfigCacheTTL is the interval, in seconds, at which the mode is read.
	ConfigCacheTTL int `env:"CONFIG_CACHE_TTL" envDefault:"5"`
}

const maxConfigCacheTTL = 60

// Validate rejects limits with which no user could search, an interval outside 1 to 60 s, and a cache URL that cannot
// be parsed.
func (c *Config) Validate() error {
	var problems []error
	if min(c.PerMinute, c.DegradedPerMinute, c.EmergencyPerMinute, c.ReadsPerMinute) < 1 {
		problems = append(
			problems,
			errors.New(
				"RATE_LIMIT_PER_MINUTE, RATE_LIMIT_DEGRADED_PER_MINUTE, RATE_LIMIT_EMERGENCY_PER_MINUTE and "+
					"RATE_LIMIT_READS_PER_MINUTE must each be at least 1",
			),
		)
	}
	if c.ConfigCacheTTL < 1 || c.ConfigCacheTTL > maxConfigCacheTTL {
		problems = append(problems,
			fmt.Errorf("RATE_LIMIT_CONFIG_CACHE_TTL is %d: give 1 to %d seconds", c.ConfigCacheTTL, maxConfigCacheTTL))
	}
	if c.KVURL.IsSet() {
		if err := redisdb.CheckURL(c.KVURL); err != nil {
			problems = append(problems, fmt.Errorf("RATE_LIMIT_KV_URL cannot be read: %w", err))
		}
	}
	return errors.Join(problems...)
}

// PerMinuteIn returns how many searches per minute a user may make in the mode.
func (c *Config) PerMinuteIn(m Mode) int {
	switch m {
	case Degraded:
		return c.DegradedPerMinute
	case Emergency:
		return c.EmergencyPerMinute
	}
	return c.PerMinute
}

// Every returns the interval at which the mode is read.
func (c *Config) Every() time.Duration { return time.Duration(c.ConfigCacheTTL) * time.Second }
