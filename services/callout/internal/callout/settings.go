package callout

import "time"

// Settings are the settings of a laboratory, completed by the defaults of the deployment.
type Settings struct {
	Pace
	// ReadBackNeeded makes a spoken callout without read-back an attempt.
	ReadBackNeeded bool
	// RepeatWithin is how long a call suppresses calls of the same patient's values that are not worse; 0: none.
	RepeatWithin time.Duration
	// RemindAfter is the time between reminders after the last escalation; 0: never.
	RemindAfter time.Duration
}
