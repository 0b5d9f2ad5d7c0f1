package callout

import "time"

// Episode is the time in which a report waits for a callout. Its deadline is the report's own: neither another result
// of the bill nor a split moves it.
type Episode struct {
	ID         int64
	ReportID   int64
	BillID     int64 // when it began
	DetectedAt time.Time
	DueAt      time.Time // zero: no escalation follows
	Level      int       // escalations so far
	// Parameters are the values that have to be called; nil when another program set the report to wait.
	Parameters []Parameter
	Closed     bool
	// Adopted is set when another program set the report to wait: the time of its detection is not known.
	Adopted bool
	// RemindAt is when the next reminder follows; zero before the last escalation, and when reminders are off.
	RemindAt time.Time
	// NoticesOff is set when a notice about it reached no device of the laboratory.
	NoticesOff bool
}

// Pace is how quickly a laboratory escalates.
type Pace struct {
	After time.Duration // from detection, and from one escalation to the next
	Most  int           // escalations of one report
}

// fullSecond is the first full second not before t: the task queue counts in seconds.
func fullSecond(t time.Time) time.Time {
	full := t.UTC().Truncate(time.Second)
	if full.Before(t) {
		full = full.Add(time.Second)
	}
	return full
}

// Start sets the first deadline.
func (e Episode) Start(pace Pace) Episode {
	e.Level, e.DueAt = 0, fullSecond(e.DetectedAt.Add(pace.After))
	return e
}

// Started reports whether a deadline was ever set.
func (e Episode) Started() bool { return e.Level > 0 || !e.DueAt.IsZero() }

// Exhausted reports whether no escalation follows the last one.
func (e Episode) Exhausted() bool { return e.Level > 0 && e.DueAt.IsZero() }

// Renew begins another run of escalations. The age of the wait still counts from the detection.
func (e Episode) Renew(now time.Time, pace Pace) Episode {
	e.Level, e.DueAt, e.RemindAt = 0, fullSecond(now.Add(pace.After)), time.Time{}
	return e
}

// Overdue reports whether the deadline has passed.
func (e Episode) Overdue(now time.Time) bool { return !e.DueAt.IsZero() && !now.Before(e.DueAt) }

// Raise counts an escalation and sets the next deadline. Several deadlines that passed while no process ran make one
// escalation.
func (e Episode) Raise(now time.Time, pace Pace) Episode {
	due := e.DueAt
	e.Level++
	e.DueAt = time.Time{}
	if e.Level < pace.Most {
		e.DueAt = fullSecond(due.Add(now.Sub(due).Truncate(pace.After) + pace.After))
	}
	return e
}

// Deadline is the earliest deadline of a bill's reports, and the job of the task queue that wakes the service then.
type Deadline struct {
	LabID, BillID int64
	DueAt         time.Time // zero: none is to come
	JobID         string    // empty: none is known
}
