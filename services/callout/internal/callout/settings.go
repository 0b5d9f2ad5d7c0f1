package callout

import "time"

// Settings are the settings of a laboratory. Settings that it has not changed have the deployment's defaults.
type Settings struct {
	Pace
	// ReadBackNeeded makes a spoken callout without read-back an attempt instead of a call.
	ReadBackNeeded bool
	// RepeatWithin is how long a call makes calls of the same patient's later values unnecessary if these are no worse; 0:
	// never.
	RepeatWithin time.Duration
	// RemindAfter is the time between reminders after the last escalation; 0: never.
	RemindAfter time.Duration
}
