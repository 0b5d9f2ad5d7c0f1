package callout

import "time"

// Episode is a wait: the time in which a report waits for a callout. The deadline belongs to the report; other results
// of the bill and splits do not move it.
type Episode struct {
	ID         int64
	ReportID   int64
	BillID     int64 // the bill when the wait began
	DetectedAt time.Time
	DueAt      time.Time // time of the next escalation; zero: none follows
	Level      int       // escalations so far
	// Parameters are the values that have to be called; nil if another program set the report to wait and no value is
	// known to be critical.
	Parameters []Parameter
	Closed     bool
	// Adopted is set if another program set the report to waiting. The detection time is then unknown.
	Adopted bool
	// RemindAt is the time of the next reminder. It is zero before the last escalation and if reminders are off.
	RemindAt time.Time
	// NoticesOff is set if a notice about the wait did not reach any device of the laboratory.
	NoticesOff bool
}

// Pace holds the escalation settings of a laboratory.
type Pace struct {
	After time.Duration // time from detection to the first escalation, and between escalations
	Most  int           // maximum number of escalations per run
}

// fullSecond rounds t up to a full second, because the task queue counts in seconds.
func fullSecond(t time.Time) time.Time {
	full := t.UTC().Truncate(time.Second)
	if full.Before(t) {
		full = full.Add(time.Second)
	}
	return full
}

// Start returns the wait with its first deadline.
func (e Episode) Start(pace Pace) Episode {
	e.Level, e.DueAt = 0, fullSecond(e.DetectedAt.Add(pace.After))
	return e
}

// Started reports whether the wait has ever had a deadline.
func (e Episode) Started() bool { return e.Level > 0 || !e.DueAt.IsZero() }

// Exhausted reports whether the last escalation of the run has been sent.
func (e Episode) Exhausted() bool { return e.Level > 0 && e.DueAt.IsZero() }

// Renew returns the wait with a new run of escalations. The age of the wait still counts from the detection.
func (e Episode) Renew(now time.Time, pace Pace) Episode {
	e.Level, e.DueAt, e.RemindAt = 0, fullSecond(now.Add(pace.After)), time.Time{}
	return e
}

// Overdue reports whether the deadline has passed.
func (e Episode) Overdue(now time.Time) bool { return !e.DueAt.IsZero() && !now.Before(e.DueAt) }

// Raise returns the wait after one more escalation, with the next deadline. If several deadlines passed while no
// process ran, one escalation is sent.
func (e Episode) Raise(now time.Time, pace Pace) Episode {
	due := e.DueAt
	e.Level++
	e.DueAt = time.Time{}
	if e.Level < pace.Most {
		e.DueAt = fullSecond(due.Add(now.Sub(due).Truncate(pace.After) + pace.After))
	}
	return e
}

// Deadline is the earliest deadline of a bill's reports, with the task queue job that wakes the service then.
type Deadline struct {
	LabID, BillID int64
	DueAt         time.Time // zero: no deadline
	JobID         string    // empty: no known job
}
