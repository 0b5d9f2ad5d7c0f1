package push

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/progress"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

const maxExcerpt = 1 << 10

// note keeps the fate of one recipient.
func (r *round) note(i int, mark progress.Mark, status int, id string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.marks[i], r.status = mark, status
	if mark != progress.Left {
		r.freshest++
	}
	switch {
	case err == nil:
		if r.id == "" {
			r.id = id
		}
	case provider.IsFailOver(err):
		r.own = err
	case job.AsFailure(err).Permanent:
		r.refusal = err
	case r.passing == nil || job.AsFailure(err).RetryAfter > job.AsFailure(r.passing).RetryAfter:
		r.passing = err
	}
}

// stopped reports whether the provider itself is at fault: the other recipients would hear the same.
func (r *round) stopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.own != nil
}

// conclude decides the attempt: whatever is left and may pass is tried again; a message that reached anybody
// is sent; one that reached nobody failed.
func (r *round) conclude() error {
	switch {
	case r.own != nil:
		return r.own
	case r.passing != nil:
		return r.passing
	case progress.Count(r.marks, progress.Left) > 0:
		return job.Retryable("interrupted", "The push was interrupted before it reached every device")
	case progress.Count(r.marks, progress.Sent) > 0:
		return nil
	case progress.Count(r.marks, progress.Dead) == len(r.marks):
		return job.Permanent("token_dead", fmt.Sprintf("None of the %d devices is registered any more", len(r.marks)))
	case r.refusal != nil:
		return r.refusal
	default:
		return job.Permanent("push_refused", "The push provider refused the message")
	}
}

// summary is the excerpt of a push to several tokens or to dead ones: what the enqueuer needs to clean up.
type summary struct {
	Sent     int      `json:"sent"`
	Left     int      `json:"left,omitempty"`
	Refused  int      `json:"refused,omitempty"`
	Dead     int      `json:"dead,omitempty"`
	DeadAt   []int    `json:"dead_at,omitempty"`     // positions in data.tokens
	Tokens   []string `json:"dead_tokens,omitempty"` // as many as fit
	Complete *bool    `json:"dead_complete,omitempty"`
}

func (r *round) result() job.Result {
	sent := progress.Count(r.marks, progress.Sent)
	result := job.Result{HTTPStatus: r.status, MessageID: r.id, Sent: sent > 0}
	if len(r.marks) == 1 && sent == 1 {
		return result
	}
	s := summary{
		Sent:    sent,
		Left:    progress.Count(r.marks, progress.Left),
		Refused: progress.Count(r.marks, progress.Refused),
		Dead:    progress.Count(r.marks, progress.Dead),
	}
	result.Excerpt = s.encode(r.to, r.marks)
	return result
}

// encode lists the dead tokens and their positions until the excerpt is full, and says whether all fitted.
func (s *summary) encode(to []string, marks []progress.Mark) string {
	text := s.text()
	complete := true
	for i, mark := range marks {
		if mark != progress.Dead {
			continue
		}
		next := *s
		next.DeadAt, next.Tokens, next.Complete = append(next.DeadAt, i), append(next.Tokens, to[i]), &complete
		if longer := next.text(); len(longer) < maxExcerpt { // "false" is longer than "true"
			*s, text = next, longer
			continue
		}
		complete = false
		if s.Complete == nil {
			s.Complete = &complete
		}
		return s.text()
	}
	return text
}

func (s *summary) text() string {
	raw, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	return string(raw)
}

// messageID is the last part of projects/<project>/messages/<id>.
func messageID(body []byte) string {
	var sent struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(body, &sent) != nil {
		return ""
	}
	return sent.Name[strings.LastIndexByte(sent.Name, '/')+1:]
}
