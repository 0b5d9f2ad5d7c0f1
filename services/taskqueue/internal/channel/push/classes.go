package push

import (
	"context"
	"errors"

	"github.com/labplatform/labplatform/pkg/fcm"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/progress"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// exchanger makes the exchanges of package fcm, with this module's classes of transport errors.
type exchanger struct{ client provider.Client }

// Do implements fcm.Client. A push costs nothing: no answer is no doubt.
func (e exchanger) Do(ctx context.Context, q netguard.Request) (*netguard.Response, error) {
	return provider.Exchange(ctx, e.client, q, false)
}

// judge tells the fate of one token from what the provider said about it, nil for sent. The error may pass or be the
// provider's own fault beside Left.
func judge(said *fcm.Error) (progress.Mark, error) {
	if said == nil {
		return progress.Sent, nil
	}
	switch said.Class {
	case fcm.DeadToken:
		return progress.Dead, failure(said)
	case fcm.Refused:
		return progress.Refused, failure(said)
	default:
		return progress.Left, failure(said)
	}
}

// failure gives an error of package fcm the queue's class; other errors have theirs.
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
