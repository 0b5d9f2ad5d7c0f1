package operatepage

import (
	"encoding/json"
	"net/http"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
)

// order is the body of every change. Who does it and why are single words of a fixed alphabet: they go to the log,
// where no sentence about a patient may stand.
type order struct {
	Operator string `json:"operator"`
	Ticket   string `json:"ticket"`

	Action  string   `json:"action"`
	IDs     []string `json:"ids"`
	Channel string   `json:"channel"`
	Paused  bool     `json:"paused"`

	Receiver        string `json:"receiver"` // of pauses: an origin
	LabID           int64  `json:"lab_id"`
	States          string `json:"states"`
	Reason          string `json:"reason"`
	OlderThanMin    int64  `json:"older_than_minutes"`
	CreatedBeforeMs int64  `json:"created_before_ms"`
	Cursor          string `json:"cursor"`
}

const (
	maxOrder   = 64 << 10
	maxMinutes = 366 * 24 * 60
)

func read(r *http.Request) (order, error) {
	var o order
	decoder := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxOrder))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&o); err != nil {
		return o, apperr.InvalidField("body", "the body is not the JSON of this page; load the page again").WithCause(err)
	}
	wrong := operate.Journal{Operator: o.Operator, Ticket: o.Ticket}.Check()
	if o.OlderThanMin < 0 || o.OlderThanMin > maxMinutes {
		wrong = append(wrong, apperr.Field{Name: "older_than_minutes", Message: "the age must be 0 minutes to a year"})
	}
	if len(wrong) > 0 {
		return o, apperr.InvalidFields(wrong...)
	}
	return o, nil
}

// journal is the log with the name of who acts and the ticket.
func (s *server) journal(o order) operate.Journal {
	return operate.Journal{Log: s.Audit, Operator: o.Operator, Ticket: o.Ticket}
}

func (o *order) filter() (operate.Filter, error) {
	return operate.ParseFilter(o.LabID, o.Channel, o.States, o.Reason, o.CreatedBeforeMs)
}

// preview counts. Its first call fixes the time: jobs that come later are left alone.
func (s *server) preview(r *http.Request) (any, error) {
	o, err := read(r)
	if err != nil {
		return nil, err
	}
	if o.CreatedBeforeMs == 0 {
		o.CreatedBeforeMs = s.operator.Clock.Now().UnixMilli() + 1 - o.OlderThanMin*60_000
	}
	f, err := o.filter()
	if err != nil {
		return nil, err
	}
	p, err := s.operator.Preview(r.Context(), operate.Action(o.Action), f, o.Cursor)
	if err != nil {
		return nil, err
	}
	first := p.First
	if first == nil {
		first = []job.ID{}
	}
	return map[string]any{"matched": p.Matched, "first": first, "looked": p.Looked, "next": p.Next,
		"created_before_ms": o.CreatedBeforeMs}, nil
}

func (s *server) apply(r *http.Request) (any, error) {
	o, err := read(r)
	if err != nil {
		return nil, err
	}
	f, err := o.filter()
	if err != nil {
		return nil, err
	}
	step, err := s.operator.Apply(r.Context(), operate.Action(o.Action), f, o.Cursor)
	s.journal(o).Step(r.Context(), operate.Action(o.Action), f, step, err)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"done": step.Done, "requested": step.Requested, "left": step.Left, "looked": step.Looked, "next": step.Next,
	}, nil
}

// change does something to single jobs.
func (s *server) change(r *http.Request) (any, error) {
	o, err := read(r)
	if err != nil {
		return nil, err
	}
	done, others, err := s.operator.Change(r.Context(), o.Action, o.IDs)
	if err != nil {
		return nil, err
	}
	s.journal(o).Jobs(r.Context(), o.Action, done, len(others))
	return map[string]any{"done": len(done), "left": len(others)}, nil
}

func (s *server) pause(r *http.Request) (any, error) {
	o, err := read(r)
	if err != nil {
		return nil, err
	}
	target, err := operate.ParseTarget(o.Channel, o.LabID, o.Receiver)
	if err != nil {
		return nil, err
	}
	act := s.operator.Resume
	if o.Paused {
		act = s.operator.Pause
	}
	if err := act(r.Context(), target); err != nil {
		return nil, err
	}
	s.journal(o).Pause(r.Context(), target, o.Paused)
	return map[string]any{"target": target, "paused": o.Paused}, nil
}
