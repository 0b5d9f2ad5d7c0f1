// Package collector is the choice of how often garbage is collected, for processes that keep little between requests.
//
// With a live heap of a few megabytes the runtime's default collects dozens of times a second under load: a fifth of
// the CPU and more. A process that holds much at once does without this package: it would only hold more.
package collector

import "runtime/debug"

// percent makes the collector wait until the heap grew fivefold.
const percent = 400

// Config is the setting of a process that chooses.
type Config struct {
	// GOGC, when set, wins over our own choice.
	GOGC string `env:"GOGC" absolute:"true"`
}

// Delay lets garbage wait.
func (c Config) Delay() {
	if c.GOGC == "" {
		debug.SetGCPercent(percent)
	}
}
