// Package provider holds the common parts of the providers of all channels: their dependencies, paid and free API
// calls, the classification of failures, and the access to secrets.
//
// Failures have four classes: retryable (temporary), permanent (of the message: no provider can send it), fail-over
// (permanent at this provider, but another one may send the message: credentials, balance, configuration), and doubtful
// (the message may have been sent). After a doubtful failure there is no fail-over, and a retry only if it is
// repeatable.
package provider

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Deps are the dependencies of all senders.
type Deps struct {
	API     *netguard.Client // for the providers' APIs
	Files   *netguard.Client // for attachments; reads at most email.MaxFileBytes
	Secrets Directory
	Clock   clock.Clock
	Log     *slog.Logger
	TLS     *tls.Config // for mail servers; nil: the system's root certificates
}

// Send makes a paid request. read returns the provider's message id from the response, or why the provider did not
// accept the message. If the outcome is unknown, the result is marked as sent, because cancelling or stopping cannot
// undo it.
func (d *Deps) Send(
	ctx context.Context, q netguard.Request, read func(*netguard.Response) (id string, err error),
) (result job.Result, err error) {
	answer, err := d.exchange(ctx, q, true)
	if err == nil {
		result.HTTPStatus = answer.Status
		result.MessageID, err = read(answer)
	}
	result.Sent = err == nil || job.AsFailure(err).Doubtful
	return result, err
}

// PostJSON returns a POST request with a JSON body and a bearer token.
func PostJSON(to *url.URL, token config.Secret, body []byte, timeout time.Duration) netguard.Request {
	return netguard.Request{
		Method:  http.MethodPost,
		URL:     to,
		Header:  http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + token.Reveal()}},
		Body:    body,
		Timeout: timeout,
	}
}

// Do makes a free request, which can be retried if there is no response.
func (d *Deps) Do(ctx context.Context, q netguard.Request) (*netguard.Response, error) {
	return d.exchange(ctx, q, false)
}

// exchange makes a request and classifies its errors. If paid is set, the outcome is unknown after the request was
// written without a response, because the provider may have acted on it.
func (d *Deps) exchange(ctx context.Context, q netguard.Request, paid bool) (*netguard.Response, error) {
	answer, err := d.API.Do(ctx, q)
	var refusal *netguard.Refusal
	switch {
	case answer != nil: // the status is known; a truncated body is detected by the code that reads it
		return answer, nil
	case errors.As(err, &refusal):
		return nil, FailOver("refused", "The provider's address is refused: "+refusal.Why)
	}
	cause := netguard.CauseOf(err)
	if paid && errors.Is(err, netguard.ErrUnanswered) {
		return nil, job.Doubt("no_answer", "The provider "+cause.Predicate+"; the message may have been sent").
			WithCause(Bare(err))
	}
	return nil, job.Retryable(cause.Reason, "The provider "+cause.Predicate).WithCause(Bare(err))
}

// Bare removes the URL from a transport error, because it may contain a phone number, a text or a token.
func Bare(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
