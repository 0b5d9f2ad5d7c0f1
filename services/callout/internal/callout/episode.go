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
	// Parameters are what was critical; nil when someone else set the report to wait.
	Parameters []Parameter
	Closed     bool
	// Adopted means that another program set the report to wait: when it was found is not known.
	Adopted bool
	// RemindAt is when the next reminder follows; zero before the last escalation, and when reminders are off.
	RemindAt time.Time
	// NoticesOff means that a notice about it reached no one.
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

// Renew begins another run from now on. How long the report has waited is still counted from its detection.
func (e Episode) Renew(now time.Time, pace Pace) Episode {
	e.Level, e.DueAt, e.RemindAt = 0, fullSecond(now.Add(pace.After)), time.Time{}
	return e
}

// Overdue reports whether the deadline has passed.
func (e Episode) Overdue(now time.Time) bool { return !e.DueAt.IsZero() && !now.Before(e.DueAt) }

// Raise notes that the deadline passed, and sets the next one. Deadlines that passed while no one looked are not made
// up for all at once.
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
