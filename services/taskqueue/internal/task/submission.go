package task

import "encoding/json"

// Submission is a task as sent by the caller, before validation.
type Submission struct {
	Task, Type int
	Data       json.RawMessage // payload of the task
	Headers    map[string]string
	LogTag     string
	// URLs for callbacks after any end of the job, after success, and after failure.
	Subscribe, OnSuccess, OnFailure string
	Priority                        *int // nil: priority of the catalogue
	Retry                           *int // nil: job.DefaultRetry
	WindowKey                       string
	Override                        bool // replace the waiting job of the same window
	// Due is the due time, in TimeLayout.
	Due string
}
