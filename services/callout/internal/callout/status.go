package callout

// Status is labReportRelation.criticalValues.
type Status int

// The states, as the database stores them.
const (
	Normal    Status = 0
	Pending   Status = 1 // a critical value that no one was told yet
	Done      Status = 2 // someone was told
	Abnormal  Status = 3
	Attempted Status = 4 // someone tried, and saved a draft
)

var names = map[Status]string{
	Normal:    "NORMAL",
	Pending:   "CALLOUT_PENDING",
	Done:      "CALLOUT_DONE",
	Abnormal:  "ABNORMAL",
	Attempted: "CALLOUT_ATTEMPTED",
}

// String is the name on the wire. A number that is none of ours counts as normal, as a new report does.
func (s Status) String() string {
	if name, ok := names[s]; ok {
		return name
	}
	return names[Normal]
}

// Open reports whether someone has still to be told.
func (s Status) Open() bool { return s == Pending || s == Attempted }

// Event is what happens to a report.
type Event int

// The events.
const (
	FoundNormal   Event = iota // evaluated: within the normal range
	FoundAbnormal              // evaluated: outside the normal range, not critical
	FoundCritical              // evaluated: critical, and not what was communicated already
	FoundTold                  // evaluated: critical, and communicated already
	Attempt                    // a callout was saved as a draft
	Complete                   // a callout was completed
	Repeat                     // a callout was completed again, on purpose
)

// transitions is the one table of the states. What it lacks is refused.
var transitions = map[Status]map[Event]Status{
	Normal: {
		FoundNormal:   Normal,
		FoundAbnormal: Abnormal,
		FoundCritical: Pending,
		FoundTold:     Done,
		Repeat:        Normal, // what was communicated, and was withdrawn
	},
	Abnormal: {
		FoundNormal:   Normal,
		FoundAbnormal: Abnormal,
		FoundCritical: Pending,
		FoundTold:     Done,
		Repeat:        Abnormal,
	},
	Pending: {
		FoundNormal:   Normal,
		FoundAbnormal: Abnormal,
		FoundCritical: Pending,
		FoundTold:     Done,
		Attempt:       Attempted,
		Complete:      Done,
	},
	Attempted: {
		FoundNormal:   Normal,
		FoundAbnormal: Abnormal,
		FoundCritical: Attempted,
		FoundTold:     Done,
		Attempt:       Attempted,
		Complete:      Done,
	},
	// What was communicated stays communicated: only another critical value opens a callout again.
	Done: {FoundNormal: Done, FoundAbnormal: Done, FoundCritical: Pending, FoundTold: Done, Repeat: Done},
}

// After returns the state that follows; ok is false when the event is refused in s.
func (s Status) After(e Event) (next Status, ok bool) {
	if _, known := transitions[s]; !known {
		s = Normal
	}
	next, ok = transitions[s][e]
	return next, ok
}
