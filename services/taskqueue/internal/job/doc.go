// Package job owns what a queued job is: its identifier, channel, priority, stored body, result record and
// states, and the pure decisions about it (backoff, expired leases, callbacks). It knows no store and no
// transport.
//
// States and the triggers that move a job between them:
//
//	scheduled ─due─► queued ─claim─► started ─ok────────────► finished
//	    ▲              ▲               │  │──error, retries left─► retrying ─due─► queued
//	    │              └──lease lost───┘  │──permanent, exhausted, poison─► failed ─/retryTask/─► scheduled
//	    └ /rescheduleJob/ (scheduled,     │──cancel honoured─► cancelled
//	      queued, retrying)               └──lease lost after a paid send began─► unknown
//
// scheduled, queued and retrying are one place in the store (a lane), told apart by due time and attempts.
package job
