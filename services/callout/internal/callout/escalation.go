package callout

import "time"

// Escalation is the clock of a bill with open callouts: at DueAt somebody must be told that nobody called.
type Escalation struct {
	LabID     int64
	BillID    int64
	Open      bool
	StartedAt time.Time // tells one run of the clock from the next
	DueAt     time.Time // zero: no escalation follows
	Level     int       // escalations so far
	JobID     string    // of the task queue; empty: none is known
}

// Pace is how quickly a laboratory escalates.
type Pace struct {
	After time.Duration // from detection, and from one escalation to the next
	Most  int           // escalations of one run
}

// deadline is the first full second not before t: the task queue counts in seconds.
func deadline(t time.Time) time.Time {
	full := t.UTC().Truncate(time.Second)
	if full.Before(t) {
		full = full.Add(time.Second)
	}
	return full
}

// Start begins a run, unless one is open: the earliest critical result of a bill sets its deadline.
func (e Escalation) Start(now time.Time, pace Pace) (started Escalation, changed bool) {
	if e.Open {
		return e, false
	}
	e.Open, e.Level, e.StartedAt, e.DueAt = true, 0, now.UTC().Truncate(time.Millisecond), deadline(now.Add(pace.After))
	return e, true
}

// Overdue tells whether the deadline has passed.
func (e Escalation) Overdue(now time.Time) bool {
	return e.Open && !e.DueAt.IsZero() && !now.Before(e.DueAt)
}

// Raise notes that the deadline passed, and sets the next one.
func (e Escalation) Raise(now time.Time, pace Pace) Escalation {
	e.Level++
	e.DueAt = time.Time{}
	if e.Level < pace.Most {
		e.DueAt = deadline(now.Add(pace.After))
	}
	return e
}

// Close ends the run; changed is false when none is open.
func (e Escalation) Close() (closed Escalation, changed bool) {
	if !e.Open {
		return e, false
	}
	e.Open, e.DueAt = false, time.Time{}
	return e, true
}
