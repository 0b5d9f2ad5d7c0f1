package outbox

import (
	"errors"
	"time"
)

// Config holds the delays and limits of a relay.
type Config struct {
	PollInterval    time.Duration `env:"POLL_INTERVAL" envDefault:"500ms"`
	FirstRetryDelay time.Duration `env:"FIRST_RETRY_DELAY" envDefault:"1s"`
	MaxRetryDelay   time.Duration `env:"MAX_RETRY_DELAY" envDefault:"5m"`
	DeliverTimeout  time.Duration `env:"DELIVER_TIMEOUT" envDefault:"10s"`
	BatchSize       int           `env:"BATCH_SIZE" envDefault:"100"`
}

// Validate returns an error unless the delays and BatchSize are positive and MaxRetryDelay is at least FirstRetryDelay.
func (c *Config) Validate() error {
	if c.PollInterval <= 0 || c.FirstRetryDelay <= 0 || c.DeliverTimeout <= 0 || c.BatchSize <= 0 ||
		c.MaxRetryDelay < c.FirstRetryDelay {
		return errors.New("outbox delays and BATCH_SIZE must be above zero and MAX_RETRY_DELAY at least FIRST_RETRY_DELAY")
	}
	return nil
}

// probeInterval is the longest pause between two probes of an unavailable receiver; the first probes follow sooner.
const probeInterval = time.Minute

// retryDelay returns the delay before the next attempt. It doubles with each attempt up to the maximum; jitter from 0
// to 1 changes it by ±20 %.
func (c *Config) retryDelay(attempts int, jitter float64) time.Duration {
	return time.Duration(float64(doubled(c.FirstRetryDelay, attempts, c.MaxRetryDelay)) * (0.8 + 0.4*jitter))
}

// probeDelay returns the pause before the next probe of a receiver that was unavailable misses times in a row.
func (c *Config) probeDelay(misses int) time.Duration {
	return doubled(c.FirstRetryDelay, misses, probeInterval)
}

func doubled(first time.Duration, times int, most time.Duration) time.Duration {
	const maxDoublings = 20
	return min(first<<min(times, maxDoublings), most)
}
