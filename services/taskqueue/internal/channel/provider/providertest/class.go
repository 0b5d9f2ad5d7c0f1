// Package providertest owns what the tests of all providers say about the outcome of a send.
package providertest

import (
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Class is the word for what becomes of a message after an attempt.
func Class(err error) string {
	f := job.AsFailure(err)
	switch {
	case err == nil:
		return "sent"
	case f.Doubtful && f.Repeatable:
		return "repeatable doubt"
	case f.Doubtful:
		return "doubt"
	case f.Postponed:
		return "postponed"
	case provider.IsFailOver(err):
		return "failover"
	case f.Permanent:
		return "permanent"
	default:
		return "retry"
	}
}
