package job

// State is the state of a job. The package comment shows the transitions.
type State uint8

// States, with the numbers used in stored records: append, never reorder.
const (
	Scheduled State = iota + 1
	Queued
	Started
	Retrying
	Finished
	Failed
	Cancelled
	Unknown
)

var stateNames = [...]string{Scheduled: "scheduled", Queued: "queued", Started: "started", Retrying: "retrying",
	Finished: "finished", Failed: "failed", Cancelled: "cancelled", Unknown: "unknown"}

// States returns all states.
func States() []State {
	return []State{Scheduled, Queued, Started, Retrying, Finished, Failed, Cancelled, Unknown}
}

// String returns the state's name in the API.
func (s State) String() string {
	if int(s) < len(stateNames) && stateNames[s] != "" {
		return stateNames[s]
	}
	return "unknown"
}

// Terminal reports whether the job has ended. It does not run again unless an operator retries it.
func (s State) Terminal() bool { return s >= Finished }

// WaitingState returns the state of a job in a lane, given its due time and the present time in ms, and the number of
// finished attempts.
func WaitingState(due, now int64, attempts int) State {
	switch {
	case due <= now:
		return Queued
	case attempts > 0:
		return Retrying
	default:
		return Scheduled
	}
}
