package service

import "runtime/debug"

// percent lets the heap grow fivefold before a collection. With a live heap of a few megabytes, the runtime's default
// collects dozens of times a second under load, which costs a fifth of the CPU time or more.
const percent = 400

// GarbageCollection is a setting for processes with little live memory. Processes with a large heap must not use it,
// because it would make the heap larger still.
type GarbageCollection struct {
	// GOGC, if set, replaces the value of this package.
	GOGC string `env:"GOGC" absolute:"true"`
}

// Delay makes the collector run less often, unless GOGC is set.
func (c GarbageCollection) Delay() {
	if c.GOGC == "" {
		debug.SetGCPercent(percent)
	}
}
