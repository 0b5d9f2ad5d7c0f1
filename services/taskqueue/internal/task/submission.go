package task

import "encoding/json"

// Submission is a task as the caller sent it, before validation.
type Submission struct {
	Task, Type int
	Data       json.RawMessage // payload of the task
	Headers    map[string]string
	LogTag     string
	// URLs for callbacks about every end of the job, its success, or its failure.
	Subscribe, OnSuccess, OnFailure string
	Priority                        *int // nil: priority of the catalogue
	Retry                           *int // nil: job.DefaultRetry
	WindowKey                       string
	Override                        bool // replace the waiting job of the same window
	// Due is the time at which to run, in TimeLayout.
	Due string
}
