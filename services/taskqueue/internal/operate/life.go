package operate

import (
	"context"
	"net/url"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// Job is one line in a list. It contains no text written by a caller.
type Job struct {
	ID              job.ID `json:"id"`
	State           string `json:"state"`
	Channel         string `json:"channel"`
	Priority        string `json:"priority"`
	Task            int    `json:"task"`
	TaskType        int    `json:"task_type"`
	LabID           int64  `json:"lab_id"`
	Attempts        int    `json:"attempts"`
	Retry           int    `json:"retry"`
	Reason          string `json:"reason"`
	CreatedMs       int64  `json:"created_ms"`
	ScheduledMs     int64  `json:"scheduled_ms"`
	StartedMs       int64  `json:"started_ms"`
	EndedMs         int64  `json:"ended_ms"`
	CancelRequested bool   `json:"cancel_requested"`
}

func jobOf(j *manage.Job) Job {
	r, lane := &j.Record, j.ID.Lane()
	return Job{ID: j.ID, State: r.State.String(), Channel: lane.Channel.String(), Priority: lane.Priority.String(),
		Task: r.Task, TaskType: r.TaskType, LabID: r.LabID, Attempts: r.Attempts, Retry: r.Retry, Reason: r.Reason,
		CreatedMs: r.CreatedMs, ScheduledMs: r.ScheduledMs, StartedMs: r.StartedMs, EndedMs: r.EndedMs,
		CancelRequested: j.CancelRequested}
}

// Life is the history of one job, as shown to operators.
type Life struct {
	Job
	DueMs      int64      `json:"due_ms"`      // set for waiting jobs
	DeadlineMs int64      `json:"deadline_ms"` // end of the lease; set for running jobs
	ExpiresMs  int64      `json:"expires_ms"`
	HTTPStatus int        `json:"http_status"`
	Revivals   int        `json:"revivals"`
	Window     string     `json:"window"` // digest of the window's key; empty: no window
	Parent     job.ID     `json:"parent"` // set for callbacks: the job whose end is reported
	Sealed     bool       `json:"sealed"`
	History    []Attempt  `json:"history"`
	Callbacks  []Callback `json:"callbacks"`
	Told       []job.ID   `json:"told"`   // callback jobs that reported the end
	Untold     bool       `json:"untold"` // callbacks of the job were dropped
	Content    *Content   `json:"content,omitempty"`
}

// Attempt is a past execution, without the receiver's response.
type Attempt struct {
	StartedMs  int64  `json:"started_ms"`
	EndedMs    int64  `json:"ended_ms"`
	HTTPStatus int    `json:"http_status"`
	Reason     string `json:"reason"`
}

// Callback is an address to which the job's outcome is sent. Only its origin is shown.
type Callback struct {
	When   string `json:"when"` // always, finished or failed
	Origin string `json:"origin"`
}

// Content is text written by callers and receivers. It may contain patient data.
type Content struct {
	Data      string `json:"data"` // set if Redis has it unencrypted
	LogTag    string `json:"log_tag"`
	Error     string `json:"error"`
	Excerpt   string `json:"excerpt"`
	MessageID string `json:"message_id"`
	Caller    string `json:"caller"`
}

// Life returns the history of one job.
func (o *Operator) Life(ctx context.Context, id string) (Life, error) {
	list, err := o.Jobs.Info(ctx, everybody, []string{id})
	if err != nil {
		return Life{}, err
	}
	if list[0] == nil {
		return Life{}, apperr.New(apperr.NotFound, "JOB_NOT_FOUND", "There is no job of this id, or it ended longer ago than jobs are kept")
	}
	j, r := list[0], &list[0].Record
	l := Life{Job: jobOf(j), HTTPStatus: r.HTTPStatus, History: []Attempt{}, Callbacks: []Callback{},
		Told: append([]job.ID{}, r.Callbacks...), Untold: r.Untold}
	switch j.Place {
	case engine.PlaceLane:
		l.DueMs = j.DueMs
	case engine.PlaceLease:
		l.DeadlineMs = j.DeadlineMs
	}
	for _, a := range r.History {
		l.History = append(l.History, Attempt{a.StartedMs, a.EndedMs, a.HTTPStatus, a.Reason})
	}
	if o.ShowPayloads {
		l.Content = &Content{LogTag: r.LogTag, Error: r.Error, Excerpt: r.Excerpt, MessageID: r.MessageID, Caller: r.Caller}
	}
	if j.Body != nil {
		l.add(j.Body)
	}
	return l, nil
}

func (l *Life) add(b *job.Body) {
	lane := l.ID.Lane()
	l.ExpiresMs, l.Revivals, l.Parent, l.Sealed = b.ExpiresMs, b.Nonce, b.Parent, len(b.Sealed) > 0
	l.Window = b.Window(lane.Priority)
	l.tells("always", b.Subscribe)
	l.tells("finished", b.OnSuccess)
	l.tells("failed", b.OnFailure)
	l.tells("always", b.CallbackTo)
	l.tells("always", job.DataCallback(lane.Channel, b.Data))
	if l.Content != nil && utf8.Valid(b.Data) {
		l.Content.Data = string(b.Data)
	}
}

// tells adds the part of an address that contains neither names of persons nor secrets.
func (l *Life) tells(when, address string) {
	if address == "" {
		return
	}
	origin := "unreadable"
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		origin = u.Scheme + "://" + u.Host
	}
	l.Callbacks = append(l.Callbacks, Callback{When: when, Origin: origin})
}
