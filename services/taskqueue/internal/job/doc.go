// Package job defines queued jobs: their identifier, channel, priority, stored body, result record and states, and the
// pure decisions about them (backoff, expired leases, callbacks). It depends on neither a store nor a transport.
//
// States and the triggers that move a job between them:
//
//	scheduled ─due─► queued ─claim─► started ─ok────────────► finished
//	    ▲              ▲               │  │──error, retries left─► retrying ─due─► queued
//	    │              └──lease lost───┘  │──permanent, exhausted, poison─► failed ─/retryTask/─► scheduled
//	    └ /rescheduleJob/ (scheduled,     │──cancel honoured─► cancelled
//	      queued, retrying)               └──lease lost after a paid send began─► unknown
//
// Jobs in states scheduled, queued and retrying are all stored in a lane; due time and attempts distinguish the states.
package job
