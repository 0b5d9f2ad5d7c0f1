package service

import "runtime/debug"

// percent makes the collector wait until the heap grew fivefold. With a live heap of a few megabytes the runtime's
// default collects dozens of times a second under load: a fifth of the CPU and more.
const percent = 400

// GarbageCollection is the setting of a process that keeps little between requests. One that holds much at once does
// without it: it would only hold more.
type GarbageCollection struct {
	// GOGC, when set, wins over our own choice.
	GOGC string `env:"GOGC" absolute:"true"`
}

// Delay lets garbage wait.
func (c GarbageCollection) Delay() {
	if c.GOGC == "" {
		debug.SetGCPercent(percent)
	}
}
