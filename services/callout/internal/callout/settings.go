package callout

import "time"

// Settings are the effective settings of a laboratory: its own, otherwise the deployment's defaults.
type Settings struct {
	Pace
	// ReadBackNeeded turns a spoken callout without read-back into an attempt.
	ReadBackNeeded bool
	// RepeatWithin is how long after a call the repeat policy suppresses calls of the patient's later values that are no
	// worse; 0: never.
	RepeatWithin time.Duration
	// RemindAfter is the time between reminders after the last escalation; 0: never.
	RemindAfter time.Duration
}
