package operate

import (
	"context"
	"log/slog"
	"regexp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
)

// Journal writes into the log who did what to how many jobs, and why. Who and why are single words of a fixed
// alphabet: no sentence about a patient may stand there.
type Journal struct {
	Log              *slog.Logger
	Operator, Ticket string
}

var (
	operatorWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._@-]{0,39}$`)
	ticketWord   = regexp.MustCompile(`^[A-Za-z0-9#/_-]{0,40}$`)
)

// Check says which of the words cannot stand in the log.
func (j Journal) Check() (wrong []apperr.Field) {
	if !operatorWord.MatchString(j.Operator) {
		wrong = append(wrong, apperr.Field{Name: "operator",
			Message: "say who you are, in one word such as a.rao or your e-mail address: it goes to the log"})
	}
	if !ticketWord.MatchString(j.Ticket) {
		wrong = append(wrong, apperr.Field{Name: "ticket",
			Message: "the ticket is one word of letters and digits such as INC-42: it goes to the log"})
	}
	return wrong
}

func (j Journal) who() *slog.Logger { return j.Log.With("operator", j.Operator, "ticket", j.Ticket) }

// Step notes a step of an action, also one that failed half-way; err is what it ended with.
func (j Journal) Step(ctx context.Context, a Action, f Filter, s Step, err error) {
	if err != nil && s.Done+s.Requested == 0 {
		return
	}
	var channels, states []string
	for _, c := range f.Channels {
		channels = append(channels, c.String())
	}
	for _, one := range f.States {
		states = append(states, one.String())
	}
	j.who().InfoContext(ctx, "an operator changed jobs", "action", string(a), "lab_id", f.LabID, "channels", channels,
		"states", states, "created_before_ms", f.CreatedBeforeMs, "done", s.Done, "requested", s.Requested, "left", s.Left,
		"complete", err == nil)
}

// Jobs notes a change of single jobs.
func (j Journal) Jobs(ctx context.Context, action string, done []string, left int) {
	j.who().InfoContext(ctx, "an operator changed jobs", "action", action, "job_ids", done, "left", left)
}

// Pause notes the beginning or the end of a pause.
func (j Journal) Pause(ctx context.Context, t engine.Target, paused bool) {
	j.who().WarnContext(ctx, "an operator paused or resumed a part of the queue", "target", string(t), "paused", paused)
}
