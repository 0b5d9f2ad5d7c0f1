// Package provider owns what the providers of all channels share: what they work with, how a provider's interface is
// called once, how its failures are told apart, and where its secrets come from.
//
// Four classes of failure: retryable (may pass), permanent (about the message: no one can send it), fail-over
// (permanent here, but another provider may send it: credentials, balance, configuration), and doubtful (the
// message may have been sent). No one retries or fails over after doubt.
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

// Deps are what the senders of all channels work with.
type Deps struct {
	API     *netguard.Client // for the providers' interfaces
	Files   *netguard.Client // for attachments: reads email.MaxFileBytes
	Secrets Directory
	Clock   clock.Clock
	Log     *slog.Logger
	TLS     *tls.Config // of mail servers; nil: the system's roots
}

// Send makes a request that is paid. read says what the answer means: the provider's id of the message, or why it did
// not take it. After doubt the message counts as sent: a cancel or a stop comes too late to undo it.
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

// PostJSON is a request with a JSON body and a token.
func PostJSON(to *url.URL, token config.Secret, body []byte, timeout time.Duration) netguard.Request {
	return netguard.Request{
		Method:  http.MethodPost,
		URL:     to,
		Header:  http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + token.Reveal()}},
		Body:    body,
		Timeout: timeout,
	}
}

// Do makes a request that costs nothing: no answer is no doubt.
func (d *Deps) Do(ctx context.Context, q netguard.Request) (*netguard.Response, error) {
	return d.exchange(ctx, q, false)
}

// exchange classifies the errors of one call: with paid set, no answer after the request was written is doubt, because
// the provider may have acted on it.
func (d *Deps) exchange(ctx context.Context, q netguard.Request, paid bool) (*netguard.Response, error) {
	answer, err := d.API.Do(ctx, q)
	var refusal *netguard.Refusal
	switch {
	case answer != nil: // the status is known, and what depends on the body finds that it is cut
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

// Bare takes the URL out of a transport error: it may hold a number, a text or a token.
func Bare(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
