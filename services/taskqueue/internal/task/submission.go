package task

import "encoding/json"

// Submission is a task as its caller wrote it, before it is checked.
type Submission struct {
	Task, Type int
	Data       json.RawMessage // the payload
	Headers    map[string]string
	LogTag     string
	// The callback URLs, for each end of the job or one of them.
	Subscribe, OnSuccess, OnFailure string
	Priority                        *int // nil: that of the catalogue
	Retry                           *int // nil: the default
	WindowKey                       string
	Override                        bool // replaces the task of the same window
	// Due is when to run, in TimeLayout.
	Due string
}
