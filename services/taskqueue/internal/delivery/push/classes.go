package push

import (
	"errors"

	"github.com/labplatform/labplatform/pkg/fcm"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/progress"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// markOf returns the state of a recipient after an error.
func markOf(said *fcm.Error) byte {
	switch said.Class {
	case fcm.DeadToken:
		return progress.Dead
	case fcm.Refused:
		return progress.Refused
	}
	return progress.Left // temporary, or an error of the provider or the platform
}

// failure converts an FCM error to a failure of the job. Other errors are returned unchanged.
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
	case fcm.Platform:
		return provider.FailOverOne(said.Reason, said.Message)
	case fcm.RateLimited:
		return provider.Limited(said.Message, said.RetryAfter)
	case fcm.TargetLimited:
		return provider.LimitedOne(said.Message, said.RetryAfter)
	default:
		return job.Retryable(said.Reason, said.Message).After(said.RetryAfter)
	}
}
