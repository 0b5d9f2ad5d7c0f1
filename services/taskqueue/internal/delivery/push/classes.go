package push

import (
	"errors"

	"github.com/labplatform/labplatform/pkg/fcm"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/progress"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// markOf is what becomes of a recipient after an error.
func markOf(said *fcm.Error) byte {
	switch said.Class {
	case fcm.DeadToken:
		return progress.Dead
	case fcm.Refused:
		return progress.Refused
	}
	return progress.Left // it may pass, or is the provider's own fault
}

// failure gives an error of package fcm the queue's class; other errors have one.
func failure(err error) error {
	var said *fcm.Error
	if !errors.As(err, &said) {
		return err
	}
	switch said.Class {
	case fcm.DeadToken, fcm.Refused:
		return job.Permanent(said.Reason, said.Message)
	case fcm.Configuration:
		return provider.FailOver(said.Reason, said.Message)
	default: // RateLimited has the reason provider.RateLimited
		return job.Retryable(said.Reason, said.Message).After(said.RetryAfter)
	}
}
