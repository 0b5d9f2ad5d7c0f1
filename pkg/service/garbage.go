package service

import "runtime/debug"

// hasty is the GOGC percentage for processes with large, short-lived buffers, which would otherwise double the memory.
const hasty = 50

// percent is the GOGC percentage that lets the heap grow fivefold before a collection. With a live heap of a few
// megabytes, the runtime's default collects dozens of times a second under load, which costs a fifth of the CPU time or
// more.
const percent = 400

// GarbageCollection is a setting for processes that do not fit the runtime's default.
type GarbageCollection struct {
	// GOGC, if set, replaces the value of this package.
	GOGC string `env:"GOGC" absolute:"true"`
}

// Delay makes the collector run less often, unless GOGC is set. Processes with a large heap must not use it, because it
// would make the heap larger still.
func (c GarbageCollection) Delay() { c.set(percent) }

// Hasten makes the collector run more often, unless GOGC is set.
func (c GarbageCollection) Hasten() { c.set(hasty) }

func (c GarbageCollection) set(percent int) {
	if c.GOGC == "" {
		debug.SetGCPercent(percent)
	}
}
