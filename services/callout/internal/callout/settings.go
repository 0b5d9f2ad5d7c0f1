package callout

import "time"

// Settings are what a laboratory decides for itself, with the deployment's defaults filled in.
type Settings struct {
	Pace
	// ReadBackNeeded keeps a spoken callout that no one repeated an attempt.
	ReadBackNeeded bool
	// RepeatWithin is how long a call spares others of the same patient that are not worse; 0: every value is called.
	RepeatWithin time.Duration
	// RemindAfter is the time between reminders after the last escalation; 0: never.
	RemindAfter time.Duration
}
