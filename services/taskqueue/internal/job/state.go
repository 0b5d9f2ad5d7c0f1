package job

// State is where a job is in its life.
type State uint8

// The states. The numbers are stored in result records: append, never reorder.
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

// States lists every state.
func States() []State {
	return []State{Scheduled, Queued, Started, Retrying, Finished, Failed, Cancelled, Unknown}
}

// String is the state's name on the wire.
func (s State) String() string {
	if int(s) < len(stateNames) && stateNames[s] != "" {
		return stateNames[s]
	}
	return "unknown"
}

// Terminal reports whether the job will not run again by itself.
func (s State) Terminal() bool { return s >= Finished }

// WaitingState tells the state of a job that waits in a lane: due in milliseconds, attempts already made.
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
