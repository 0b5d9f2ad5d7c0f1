package provider

import "github.com/labplatform/labplatform/services/taskqueue/internal/job"

// Outcomes returns all results of Outcome.
func Outcomes() []string {
	return []string{"sent", "retry", "permanent", "elsewhere", "unknown", "postponed"}
}

// Outcome returns the metric label for the outcome of an attempt.
func Outcome(err error) string {
	f := job.AsFailure(err)
	switch {
	case err == nil:
		return "sent"
	case f.Doubtful:
		return "unknown"
	case f.Postponed:
		return "postponed"
	case f.Elsewhere:
		return "elsewhere"
	case f.Permanent:
		return "permanent"
	default:
		return "retry"
	}
}
