package webhook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/circuit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/pace"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mailbox"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Tokens issues service tokens. Each delivery gets a new one; tokens are never stored.
type Tokens interface {
	Mint(audience, onBehalfOf string) (string, error)
}

// Recorder stores a copy of each request, for the mailbox. It must not block and cannot make a delivery fail.
type Recorder interface {
	Record(m mailbox.Message)
}

// Config holds the dependencies and limits of a Sender.
type Config struct {
	Targets         *Targets
	Webhooks        *Signer      // signs webhook tasks
	Callbacks       *Signer      // signs result callbacks
	Subscribers     *Subscribers // receivers with their own secrets; nil: none
	Tokens          Tokens
	Recorder        Recorder // nil: nothing is stored
	Clock           clock.Clock
	HostConcurrency int // concurrent requests of a laboratory to one origin
	Pacer           *pace.Pacer
	Rate            func(origin string) float64 // requests per second to a public origin; 0: no limit; nil: no limits
	Held            func(origin string) bool    // reports whether an operator has paused the receiver; nil: no pauses
	Circuits        *circuit.Circuits
}

// Sender delivers webhook and callback jobs. It is safe for concurrent use.
type Sender struct {
	Config
	hosts *hosts
}

// New returns a Sender with the dependencies and limits in cfg.
func New(cfg Config) *Sender { return &Sender{Config: cfg, hosts: newHosts(cfg.HostConcurrency)} }

const (
	gatewayAudience = "gateway"
	excerptBytes    = 1 << 10
	busyDelay       = 500 * time.Millisecond
	breakerFailures = 10
)

// Handle makes one attempt to send the request of a job.
func (s *Sender) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	q, err := build(d.ID, d.Body)
	if err != nil {
		return job.Result{}, err
	}
	client, err := s.address(&q, d.Body)
	if err != nil {
		return job.Result{}, err
	}
	if err := s.sign(&q, d); err != nil {
		return job.Result{}, err
	}
	answer, err := s.exchange(ctx, client, d, q)
	result, err := conclude(d.ID, answer, err, s.Clock.Now())
	if to := destination(d, q); err != nil && s.Circuits.Holds(to) {
		err = job.AsFailure(err).For(to) // the retry is parked with the jobs for the same destination
	}
	s.record(d, q, result, err)
	return result, err
}

// address returns the client for the URL. For an origin of the platform, it adds the service token and the header that
// only the internal client may send.
func (s *Sender) address(q *netguard.Request, b *job.Body) (*netguard.Client, error) {
	if !s.Targets.IsInternal(q.URL) {
		return s.Targets.public, nil
	}
	if !b.Internal {
		return nil, job.Permanent("internal_refused",
			"The URL names an address of the platform itself; only its services may call it")
	}
	if s.Targets.lacksTLS(q.URL) {
		q.URL.Scheme = "https" // the platform's origin changed to TLS while the job waited
	}
	token, err := s.Tokens.Mint(gatewayAudience, strings.TrimPrefix(b.Caller, "service:"))
	if err != nil {
		return nil, job.AwaitRecovery("token", "The task queue has no credential for the platform's own address", secretDelay).
			WithCause(err)
	}
	q.Header.Set("Authorization", "Bearer "+token)
	q.Header.Set("X-Is-Internal-Request", "True")
	return s.Targets.internal, nil
}

// secretDelay is how long a job waits if the secret for its signature cannot be read, or its service token not issued.
const secretDelay = time.Minute

// sign signs the request. The platform's requests (callbacks, and tasks of its services) are signed with the secrets of
// the receiver, or the global ones. A laboratory's own tasks are signed with a secret derived from these, unless the
// laboratory and the receiver have agreed on one.
func (s *Sender) sign(q *netguard.Request, d worker.Delivery) error {
	isCallback := d.ID.Lane().Channel == job.Callback
	signer, isOwn := s.Subscribers.of(d.Body.LabID, netguard.Origin(q.URL))
	switch {
	case signer != nil && !signer.Enabled():
		return job.Postpone("secret", secretDelay)
	case signer != nil:
	case isCallback:
		signer = s.Callbacks
	default:
		signer = s.Webhooks
	}
	if !isOwn && !isCallback && !d.Body.Internal {
		signer = signer.ForLaboratory(d.Body.LabID)
	}
	signer.Sign(q.Header, d.ID, s.Clock.Now(), q.Body)
	if isCallback {
		signer.SignBody(q.Header, q.Body)
	}
	return nil
}

// destination returns the unit that is paused after failures: a laboratory's requests to one class of path at a
// receiver.
func destination(d worker.Delivery, q netguard.Request) job.Destination {
	return job.ToPath(d.Body.LabID, netguard.Origin(q.URL), pathClass(q.URL.Path))
}

// pathClass replaces the parts of a path that look like ids, so that /bill/17/paid and /bill/18/paid are paused
// together.
func pathClass(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.ContainsAny(part, "0123456789") {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}

// exchange sends the request within the receiver's limits. If the receiver is paused or a limit is reached, the job is
// postponed, which does not count as an attempt.
func (s *Sender) exchange(
	ctx context.Context, client *netguard.Client, d worker.Delivery, q netguard.Request,
) (*netguard.Response, error) {
	origin := netguard.Origin(q.URL)
	if s.Held != nil && s.Held(origin) {
		return nil, job.Postpone("receiver_paused", 0).For(job.ToReceiver(origin))
	}
	if s.Rate != nil && client == s.Targets.public {
		if err := s.Pacer.Pass(ctx, "origin:"+origin, s.Rate(origin), d.Body.Flow); err != nil {
			return nil, err
		}
	}
	leave := s.hosts.enter(ctx, d.Body.LabID, origin)
	if leave == nil {
		return nil, job.Postpone("host_busy", busyDelay)
	}
	defer leave()
	var answer *netguard.Response
	var failed error
	to := destination(d, q)
	wait := s.Circuits.Do(ctx, to, breakerFailures, func() circuit.Verdict {
		answer, failed = client.Do(ctx, q)
		if answer != nil { // the status decides, even if the body is incomplete
			failed = nil
		}
		return s.judge(ctx, answer, failed)
	})
	if wait > 0 {
		return nil, job.AwaitRecovery("receiver_down", "The receiver keeps failing; requests to it are paused", wait).For(to)
	}
	return answer, failed
}

// judge returns what a response shows about the receiver. Requests rejected or cancelled on this side show nothing.
func (s *Sender) judge(ctx context.Context, answer *netguard.Response, failed error) circuit.Verdict {
	switch {
	case errors.Is(failed, netguard.ErrRefused) || ctx.Err() != nil:
		return circuit.Verdict{}
	case failed != nil:
		return circuit.Verdict{Ill: true}
	}
	v := circuit.Verdict{Ill: answer.Status >= http.StatusInternalServerError}
	v.Well = !v.Ill
	if answer.Status == http.StatusTooManyRequests || answer.Status == http.StatusServiceUnavailable {
		v.Asked = netguard.RetryAfter(answer.Header, s.Clock.Now()) // pauses all requests to this destination
	}
	return v
}

// conclude returns the result of the attempt for a response or a transport error.
func conclude(id job.ID, answer *netguard.Response, err error, now time.Time) (job.Result, error) {
	if err != nil {
		return job.Result{Sent: errors.Is(err, netguard.ErrUnanswered)}, transportFailure(err)
	}
	result := job.Result{HTTPStatus: answer.Status, Excerpt: excerpt(answer), Sent: answer.Status < 300}
	if answer.Status >= 200 && answer.Status < 300 {
		return result, nil
	}
	return result, statusFailure(id.Lane().Channel, answer, now)
}

func transportFailure(err error) error {
	var failure *job.Failure
	var refusal *netguard.Refusal
	switch {
	case errors.As(err, &failure):
		return failure
	case errors.As(err, &refusal):
		return job.Permanent("refused", "The URL is refused: "+refusal.Why)
	}
	cause := netguard.CauseOf(err)
	if cause.Reason == "tls_name" {
		return job.Permanent(cause.Reason, "The receiver "+cause.Predicate)
	}
	return job.Retryable(cause.Reason, "The receiver "+cause.Predicate).WithCause(err)
}

func statusFailure(c job.Channel, answer *netguard.Response, now time.Time) error {
	message, wait := fmt.Sprintf("The receiver answered %d", answer.Status), netguard.RetryAfter(answer.Header, now)
	switch {
	case c == job.Callback && answer.Status == http.StatusGone:
		return job.Permanent("http_410", message)
	case c == job.Callback, answer.Status >= 500, slices.Contains([]int{408, 425, 429}, answer.Status):
		return job.Retryable("http_"+strconv.Itoa(answer.Status/100)+"xx", message).After(wait)
	case answer.Status >= 300 && answer.Status < 400:
		return job.Permanent("redirect", message+": redirects are not followed")
	default:
		return job.Permanent("http_4xx", message)
	}
}

// excerpt returns at most 1 KiB from the beginning of a textual response.
func excerpt(answer *netguard.Response) string {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if !strings.HasPrefix(kind, "text/") && !strings.HasSuffix(kind, "json") && !strings.HasSuffix(kind, "xml") {
		return ""
	}
	text := answer.Body[:min(len(answer.Body), excerptBytes)]
	for len(text) > 0 && !utf8.Valid(text) {
		if len(text) < excerptBytes-utf8.UTFMax {
			return ""
		}
		text = text[:len(text)-1]
	}
	return string(text)
}

func (s *Sender) record(d worker.Delivery, q netguard.Request, result job.Result, err error) {
	if s.Recorder == nil {
		return
	}
	m := mailbox.Message{
		To:         []string{q.URL.Host},
		Title:      q.Method + " " + q.URL.String(),
		Body:       string(q.Body),
		Format:     "json",
		Signature:  q.Header.Get("webhook-signature"),
		Curl:       curl(q),
		HTTPStatus: result.HTTPStatus,
	}
	for _, name := range slices.Sorted(maps.Keys(q.Header)) {
		m.Headers = append(m.Headers, mailbox.Header{Name: name, Value: shown(name, q.Header.Get(name))})
	}
	s.Recorder.Record(m.Of(d, s.Clock.Now(), err))
}

// shown returns a header value with credentials masked.
func shown(name, value string) string {
	switch strings.ToLower(name) {
	case "authorization", "x-api-key", "cookie":
		return "***"
	}
	return value
}
