package push

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/progress"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

const (
	maxExcerpt = 1 << 10
	maxListed  = maxExcerpt / len(`0,"",`) // divided by the minimum size of a dead token: its position and an empty token
)

// fate is the outcome of the request for one recipient, or zero if none was made.
type fate struct {
	mark   byte
	status int
	id     string // FCM's message id
	err    error
}

// round is one attempt to send to all remaining recipients.
type round struct {
	data  task.Push
	to    []string // tokens without duplicates, or an empty string for the topic
	at    []int    // position of each token in data.tokens
	marks []byte   // states of the recipients, see package progress
	fates []fate   // each element is written only by the request of its recipient
}

func newRound(b *job.Body) (*round, error) {
	r := &round{}
	if err := json.Unmarshal(b.Data, &r.data); err != nil {
		return nil, job.Permanent("bad_payload", "The stored task cannot be read").WithCause(err)
	}
	for i, token := range r.data.Tokens {
		if !slices.Contains(r.to, token) { // one notification per device
			r.to, r.at = append(r.to, token), append(r.at, i)
		}
	}
	if r.data.Topic != "" {
		r.to, r.at = []string{""}, []int{0}
	}
	r.marks, r.fates = progress.Read(b, len(r.to)), make([]fate, len(r.to))
	return r, nil
}

// conclude marks the recipients that were sent to and returns the result of the attempt: an error of the provider
// first. If recipients with temporary failures remain, it is a retry after the longest requested delay. If then devices
// of a platform with wrong credentials remain, the message failed, and a retry by an operator sends to these. Otherwise
// it is sent if it reached at least one recipient, and failed if it reached none.
func (r *round) conclude() error {
	var own, passing, platform, refusal *job.Failure
	apart := 0 // recipients of a platform with wrong credentials
	for i, f := range r.fates {
		if f.mark != 0 {
			r.marks[i] = f.mark
		}
		switch failure := job.AsFailure(f.err); {
		case f.err == nil:
		case failure.Elsewhere && failure.OfMessage:
			platform, apart = failure, apart+1
		case failure.Elsewhere:
			own = failure
		case failure.Permanent:
			refusal = failure
		case outranks(failure, passing):
			passing = failure
		}
	}
	switch {
	case own != nil:
		return own
	case passing != nil:
		return passing
	case progress.Count(r.marks, progress.Left) > apart:
		return job.Retryable("interrupted", "The push was interrupted before it reached every device")
	case platform != nil:
		return platform
	case progress.Count(r.marks, progress.Sent) > 0:
		return nil
	case progress.Count(r.marks, progress.Dead) == len(r.marks):
		return job.Permanent("token_dead", fmt.Sprintf("None of the %d devices is registered any more", len(r.marks)))
	case refusal != nil:
		return refusal
	default:
		return job.Permanent("push_refused", "The push provider refused the message")
	}
}

// outranks reports whether a temporary failure determines the retry instead of another one, which may be nil: a failure
// of the provider does before one of a recipient, then the one with the longer delay.
func outranks(failure, other *job.Failure) bool {
	if other == nil || failure.OfMessage != other.OfMessage {
		return other == nil || other.OfMessage
	}
	return failure.RetryAfter > other.RetryAfter
}

// summary is the excerpt of a push to several tokens, or of one that reached none. It contains the data needed by the
// caller to delete dead tokens.
type summary struct {
	Sent     int      `json:"sent"`
	Left     int      `json:"left,omitempty"`
	Refused  int      `json:"refused,omitempty"`
	Dead     int      `json:"dead,omitempty"`
	DeadAt   []int    `json:"dead_at,omitempty"`     // positions of dead tokens in data.tokens
	Tokens   []string `json:"dead_tokens,omitempty"` // the first dead tokens, as many as fit
	Complete *bool    `json:"dead_complete,omitempty"`
}

func (r *round) result() job.Result {
	s := summary{
		Sent:    progress.Count(r.marks, progress.Sent),
		Left:    progress.Count(r.marks, progress.Left),
		Refused: progress.Count(r.marks, progress.Refused),
		Dead:    progress.Count(r.marks, progress.Dead),
	}
	result := job.Result{Sent: s.Sent > 0}
	for _, f := range r.fates {
		result.HTTPStatus, result.MessageID = cmp.Or(f.status, result.HTTPStatus), cmp.Or(result.MessageID, f.id)
		if f.mark != 0 && f.mark != progress.Left {
			result.Progress = r.marks
		}
	}
	if len(r.marks) > 1 || s.Sent == 0 {
		result.Excerpt = s.encode(r)
	}
	return result
}

// encode returns the summary with as many dead tokens as fit into the excerpt. Complete is set if these are all.
func (s *summary) encode(r *round) string {
	var at []int
	for i, mark := range r.marks {
		if mark == progress.Dead {
			at = append(at, i)
		}
	}
	for n := min(len(at), maxListed); ; n-- {
		s.DeadAt, s.Tokens, s.Complete = nil, nil, nil
		if len(at) > 0 {
			complete := n == len(at)
			s.Complete = &complete
		}
		for _, i := range at[:n] {
			s.DeadAt, s.Tokens = append(s.DeadAt, r.at[i]), append(s.Tokens, r.to[i])
		}
		raw, err := json.Marshal(s)
		switch {
		case err != nil:
			return ""
		case len(raw) <= maxExcerpt || n == 0:
			return string(raw)
		}
	}
}
