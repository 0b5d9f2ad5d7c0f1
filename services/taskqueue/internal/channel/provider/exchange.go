package provider

import (
	"context"
	"errors"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Client makes guarded exchanges; *netguard.Client is one.
type Client interface {
	Do(ctx context.Context, q netguard.Request) (*netguard.Response, error)
}

// Exchange makes one call. Its errors are classified: with paid set, no answer after the request was written is
// doubt, because the provider may have acted on it.
func Exchange(ctx context.Context, client Client, q netguard.Request, paid bool) (*netguard.Response, error) {
	var written atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { written.Store(true) }}
	answer, err := client.Do(httptrace.WithClientTrace(ctx, trace), q)
	if err == nil {
		return answer, nil
	}
	err = Bare(err)
	var refusal *netguard.Refusal
	switch {
	case errors.As(err, &refusal):
		return nil, FailOver("refused", "The provider's address is refused: "+refusal.Why)
	case paid && written.Load():
		return nil, job.Doubt("no_answer", "The provider did not answer after the request was sent; the message may have been sent").
			WithCause(err)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, job.Retryable("timeout", "The provider did not answer in time").WithCause(err)
	default:
		return nil, job.Retryable("network", "The provider cannot be reached").WithCause(err)
	}
}

// Bare takes the URL out of a transport error: it may hold a number, a text or a token.
func Bare(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// Interrupted is the result to return with err: after doubt a cancel or a stop comes too late to undo the send.
func Interrupted(err error) job.Result {
	var failure *job.Failure
	return job.Result{Sent: errors.As(err, &failure) && failure.Doubtful}
}
