package task

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Limits of a submission.
const (
	MaxBatch     = 1000
	MaxTaskBytes = 64 << 10
	maxTag       = 128
	maxWindowKey = 190
	otpValidity  = 5 * time.Minute
	// maxPasswordBytes and PasswordHorizon are the size of a one-time password's data, and how far ahead it may be
	// scheduled.
	maxPasswordBytes = 1 << 10
	PasswordHorizon  = time.Hour
	// Horizon is how far ahead a task may be scheduled.
	Horizon = 366 * 24 * time.Hour
)

// Submission is one task as a caller wrote it. Nil pointers are absent fields.
type Submission struct {
	Task, TaskType int
	Data           []byte // raw JSON
	Headers        map[string]string
	LogTag         string
	Subscribe      string
	OnSuccess      string
	OnFailure      string
	Priority       *int
	Retry          *int
	Time           *string // /schedule/ only: YYYY-MM-DDTHH:MM:SS, UTC
	WindowKey      string
	Override       bool
}

// Caller is who submits.
type Caller struct {
	LabID    int64  // 0: an internal service that acts for none
	Name     string // "user:77" is a lab user, "doctor:77", "service:rerun"
	Internal bool   // a service of the platform: internal origins are allowed
}

// Planned is a valid task, ready to become a job.
type Planned struct {
	Lane      job.Lane
	Body      job.Body
	DueMs     int64 // 0: now
	WindowKey string
	Override  bool
}

// Targets knows which URLs may be called.
type Targets interface {
	// CheckPublic refuses URLs that can never be delivered.
	CheckPublic(raw string) error
	// IsInternal reports whether the URL names an origin of the platform itself.
	IsInternal(u *url.URL) bool
}

// Validator checks submissions.
type Validator struct {
	Targets Targets
	Known   func(c job.Channel, provider string) bool // what config.provider may name
	Serves  func(job.Channel) bool                    // whether a channel can deliver here
	Clock   clock.Clock
	// Sender reports whether a laboratory's task may name a sender; nil: any.
	Sender func(c job.Channel, lab int64, name string) bool
}

// checker collects the wrong fields of one submission.
type checker struct {
	v      *Validator
	index  int
	caller Caller
	fields []apperr.Field
}

func (c *checker) wrong(field, format string, args ...any) {
	c.fields = append(c.fields, apperr.Field{Index: c.index, Name: field, Message: fmt.Sprintf(format, args...)})
}

// Check returns the plan of a submission at position index, or its wrong fields.
func (v *Validator) Check(index int, s Submission, caller Caller) (Planned, []apperr.Field) {
	c := &checker{v: v, index: index, caller: caller}
	row, found, known := find(s.Task, s.TaskType)
	switch {
	case !known:
		c.wrong("task", "task %d is not one of 1 SMS, 2 email, 3 push, 4 webhook, 6 WhatsApp", s.Task)
	case !found:
		c.wrong("task_type", "task_type %d does not exist for task %d", s.TaskType, s.Task)
	case !v.Serves(row.channel):
		c.wrong("task", "no provider is configured for task %d", s.Task)
	}
	p := Planned{
		WindowKey: s.WindowKey,
		Override:  s.Override,
		Body: job.Body{
			Task:      s.Task,
			TaskType:  s.TaskType,
			LabID:     caller.LabID,
			Caller:    caller.Name,
			Internal:  caller.Internal,
			Data:      s.Data,
			LogTag:    s.LogTag,
			Subscribe: s.Subscribe,
			OnSuccess: s.OnSuccess,
			OnFailure: s.OnFailure,
			Retry:     job.DefaultRetry,
			Flow:      job.LabFlow(caller.LabID),
		},
	}
	p.Lane = job.Lane{Channel: row.channel, Priority: row.priority}
	c.settings(s, &p)
	c.due(s, &p)
	c.url("subscribe", s.Subscribe, false)
	c.url("success_task_handler", s.OnSuccess, false)
	c.url("failed_task_handler", s.OnFailure, false)
	if found {
		c.data(row, s, &p)
	}
	return p, c.fields
}

func (c *checker) settings(s Submission, p *Planned) {
	if s.Retry != nil {
		p.Body.Retry = *s.Retry
		if *s.Retry < 0 || *s.Retry > job.MaxRetry {
			c.wrong("retry", "retry must be 0 to %d", job.MaxRetry)
		}
	}
	if s.Priority != nil {
		if *s.Priority < int(job.Low) || *s.Priority > int(job.High) {
			c.wrong("override_priority", "override_priority must be 0, 1 or 2")
		} else {
			p.Lane.Priority = job.Priority(*s.Priority)
		}
	}
	if len(s.LogTag) > maxTag {
		c.wrong("log_tag", "log_tag is longer than %d bytes", maxTag)
	}
	if len(s.WindowKey) > maxWindowKey {
		c.wrong("window_delay", "window_delay is longer than %d bytes", maxWindowKey)
	}
	size := len(s.Data)
	for name, value := range s.Headers {
		size += len(name) + len(value)
	}
	if size > MaxTaskBytes {
		c.wrong("data", "a task is at most 64 KiB, this one has %d bytes", size)
	}
}

// TimeLayout is how every time of the interface is written, in UTC.
const TimeLayout = "2006-01-02T15:04:05"

// ParseTime reads a documented time; a trailing Z is accepted, any other zone is not.
func ParseTime(text string) (time.Time, error) {
	return time.Parse(TimeLayout, strings.TrimSuffix(text, "Z"))
}

func (c *checker) due(s Submission, p *Planned) {
	if s.Time == nil {
		return
	}
	at, err := ParseTime(*s.Time)
	if err != nil {
		c.wrong("sch_time", "sch_time must be written YYYY-MM-DDTHH:MM:SS in UTC")
		return
	}
	if at.After(c.v.Clock.Now().Add(Horizon)) {
		c.wrong("sch_time", "sch_time is more than a year ahead; schedule the task later")
		return
	}
	p.DueMs = max(at.UnixMilli(), 1)
	p.Body.ScheduledMs = p.DueMs
}

// url checks a URL that the queue will call. required: empty is an error.
func (c *checker) url(field, raw string, required bool) {
	if raw == "" {
		if required {
			c.wrong(field, "%s is missing", field)
		}
		return
	}
	if u, err := url.Parse(raw); err == nil && c.v.Targets.IsInternal(u) {
		if !c.caller.Internal {
			c.wrong(field, "%s names an address of the platform itself; only its services may", field)
		}
		return
	}
	if err := c.v.Targets.CheckPublic(raw); err != nil {
		c.wrong(field, "%s: %s", field, err)
	}
}

func (c *checker) data(row kind, s Submission, p *Planned) {
	if !isObject(s.Data) {
		c.wrong("data", "data must be an object")
		return
	}
	switch row.channel {
	case job.SMS:
		c.sms(s.Data)
		if row.taskType == typeOTP {
			p.Body.ExpiresMs = int64(otpValidity / time.Millisecond) // relative until the job gets its times
			p.Body.Flow = job.OTPFlow(c.caller.LabID)
			c.password(s, p)
		}
	case job.Email:
		c.email(s.Data)
	case job.Push:
		c.push(s.Data)
	case job.Webhook:
		c.webhook(s, p)
	case job.WhatsApp:
		c.whatsApp(s.Data)
	}
}

// password bounds a one-time password: these have places of their own, which large or late messages must not fill.
func (c *checker) password(s Submission, p *Planned) {
	if len(s.Data) > maxPasswordBytes {
		c.wrong(
			"data",
			"a one-time password is at most 1 KiB, this one has %d bytes; send other messages with another task_type",
			len(s.Data),
		)
	}
	if p.DueMs > c.v.Clock.Now().Add(PasswordHorizon).UnixMilli() {
		c.wrong("sch_time", "a one-time password is scheduled at most an hour ahead")
	}
}

func (c *checker) webhook(s Submission, p *Planned) {
	var d Webhook
	if field, message := decode(s.Data, &d); field != "" {
		c.wrong(field, "%s", message)
		return
	}
	c.url("data.url", d.URL, true)
	if u, err := url.Parse(d.URL); err == nil && c.v.Targets.IsInternal(u) {
		p.Body.Flow = job.FlowPlatform
	}
	if d.Timeout != nil && (*d.Timeout < 1 || *d.Timeout > 300) {
		c.wrong("data.timeout", "data.timeout must be 1 to 300 seconds")
	}
	if len(d.Args) > 0 && string(d.Args) != "null" && !isObject(d.Args) {
		c.wrong("data.args", "data.args must be an object")
	}
	c.url("data.callback_url", d.CallbackURL, job.Flag(d.Callback))
	headers, problem := MergeHeaders(s.Headers, d.Headers)
	if problem != "" {
		c.wrong("headers", "%s", problem)
		return
	}
	if len(headers) > 0 {
		encoded, err := json.Marshal(headers)
		if err != nil {
			c.wrong("headers", "headers cannot be stored")
		}
		p.Body.Headers = encoded
	}
}
