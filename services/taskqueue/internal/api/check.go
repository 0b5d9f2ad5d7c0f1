package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// Limits of a submission.
const (
	maxBatch     = 1000
	maxTaskBytes = 64 << 10
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

// Checks know what a task must look like.
type Checks struct {
	Targets Targets
	Known   func(c job.Channel, provider string) bool // what config.provider may name
	Serves  func(job.Channel) bool                    // whether a channel can deliver here
	Clock   clock.Clock
	// Sender reports whether a laboratory's task may name a sender; nil: any.
	Sender func(c job.Channel, lab int64, name string) bool
}

// checker plans one task and collects its wrong fields.
type checker struct {
	*Checks
	Planned
	t      *taskqueuev1.ScheduledTask
	row    task.Kind
	caller task.Caller
	index  int
	fields []apperr.Field
}

func (c *checker) wrong(field, format string, args ...any) {
	c.fields = append(c.fields, apperr.Field{Index: c.index, Name: field, Message: fmt.Sprintf(format, args...)})
}

// plan returns the plans of a request's tasks, or an error that names all wrong fields.
func (v *Checks) plan(caller task.Caller, tasks []*taskqueuev1.ScheduledTask, now bool) ([]Planned, error) {
	if err := tooMany("tasks", len(tasks)); err != nil {
		return nil, err
	}
	planned := make([]Planned, len(tasks))
	var wrong []apperr.Field
	for i, t := range tasks {
		p, fields := v.Check(i, t, now, caller)
		planned[i], wrong = p, append(wrong, fields...)
	}
	if len(wrong) > 0 {
		return nil, apperr.InvalidFields(wrong...)
	}
	return planned, nil
}

// tooMany says that a request holds none or too many elements; nil when it does not.
func tooMany(field string, n int) error {
	switch {
	case n == 0:
		return apperr.InvalidField(field, "the request holds no "+field[:len(field)-1])
	case n > maxBatch:
		return apperr.InvalidField(field, fmt.Sprintf("a request holds at most %d %s", maxBatch, field))
	}
	return nil
}

// Check returns the plan of a task at position index, or its wrong fields. now: it has no time of its own.
func (v *Checks) Check(
	index int, t *taskqueuev1.ScheduledTask, now bool, caller task.Caller,
) (Planned, []apperr.Field) {
	row, found, known := task.Find(int(t.GetTask()), int(t.GetTaskType()))
	c := &checker{Checks: v, t: t, row: row, caller: caller, index: index}
	switch {
	case !known:
		c.wrong("task", "task %d is not one of 1 SMS, 2 email, 3 push, 4 webhook, 6 WhatsApp", t.GetTask())
	case !found:
		c.wrong("task_type", "task_type %d does not exist for task %d", t.GetTaskType(), t.GetTask())
	case !v.Serves(row.Channel):
		c.wrong("task", "no provider is configured for task %d", t.GetTask())
	}
	c.Planned = Planned{
		Lane:      job.Lane{Channel: row.Channel, Priority: row.Priority},
		WindowKey: t.GetWindowDelay(),
		Override:  t.GetOverrideWindow() == 1,
		Body: job.Body{
			Task:      int(t.GetTask()),
			TaskType:  int(t.GetTaskType()),
			LabID:     caller.LabID,
			Caller:    caller.Name,
			Internal:  caller.Internal,
			Data:      t.GetData().GetJson(),
			LogTag:    t.GetLogTag(),
			Subscribe: t.GetSubscribe(),
			OnSuccess: t.GetSuccessTaskHandler(),
			OnFailure: t.GetFailedTaskHandler(),
			Retry:     job.DefaultRetry,
			Flow:      job.LabFlow(caller.LabID),
		},
	}
	c.settings()
	if !now {
		c.due()
	}
	c.url("subscribe", c.Body.Subscribe, false)
	c.url("success_task_handler", c.Body.OnSuccess, false)
	c.url("failed_task_handler", c.Body.OnFailure, false)
	if found {
		c.data()
	}
	return c.Planned, c.fields
}

func (c *checker) settings() {
	if t := c.t; t != nil && t.Retry != nil {
		c.Body.Retry = int(t.GetRetry())
		if c.Body.Retry < 0 || c.Body.Retry > job.MaxRetry {
			c.wrong("retry", "retry must be 0 to %d", job.MaxRetry)
		}
	}
	if t := c.t; t != nil && t.OverridePriority != nil {
		if p := t.GetOverridePriority(); p < int32(job.Low) || p > int32(job.High) {
			c.wrong("override_priority", "override_priority must be 0, 1 or 2")
		} else {
			c.Lane.Priority = job.Priority(p)
		}
	}
	if len(c.Body.LogTag) > maxTag {
		c.wrong("log_tag", "log_tag is longer than %d bytes", maxTag)
	}
	if len(c.WindowKey) > maxWindowKey {
		c.wrong("window_delay", "window_delay is longer than %d bytes", maxWindowKey)
	}
	size := len(c.Body.Data)
	for name, value := range c.t.GetHeaders() {
		size += len(name) + len(value)
	}
	if size > maxTaskBytes {
		c.wrong("data", "a task is at most 64 KiB, this one has %d bytes", size)
	}
}

// parseTime reads a documented time; a trailing Z is accepted, any other zone is not.
func parseTime(text string) (time.Time, error) {
	return time.Parse(task.TimeLayout, strings.TrimSuffix(text, "Z"))
}

func (c *checker) due() {
	at, err := parseTime(c.t.GetSchTime())
	if err != nil {
		c.wrong("sch_time", "sch_time must be written YYYY-MM-DDTHH:MM:SS in UTC")
		return
	}
	if at.After(c.Clock.Now().Add(Horizon)) {
		c.wrong("sch_time", "sch_time is more than a year ahead; schedule the task later")
		return
	}
	c.DueMs = max(at.UnixMilli(), 1)
	c.Body.ScheduledMs = c.DueMs
}

// url checks a URL that the queue will call. required: empty is an error.
func (c *checker) url(field, raw string, required bool) {
	if raw == "" {
		if required {
			c.wrong(field, "%s is missing", field)
		}
		return
	}
	if u, err := url.Parse(raw); err == nil && c.Targets.IsInternal(u) {
		if !c.caller.Internal {
			c.wrong(field, "%s names an address of the platform itself; only its services may", field)
		}
		return
	}
	if err := c.Targets.CheckPublic(raw); err != nil {
		c.wrong(field, "%s: %s", field, err)
	}
}

func (c *checker) data() {
	data := c.Body.Data
	if !task.IsObject(data) {
		c.wrong("data", "data must be an object")
		return
	}
	switch c.row.Channel {
	case job.SMS:
		c.sms(data)
	case job.Email:
		c.email(data)
	case job.Push:
		c.push(data)
	case job.Webhook:
		c.webhook(data)
	case job.WhatsApp:
		c.whatsApp(data)
	}
	if c.row.OneTimePassword() {
		c.password()
	}
}

// password bounds a one-time password: these have places of their own, which large or late messages must not fill.
func (c *checker) password() {
	c.Body.ExpiresMs = int64(otpValidity / time.Millisecond) // relative until the job gets its times
	c.Body.Flow = job.OTPFlow(c.caller.LabID)
	if n := len(c.Body.Data); n > maxPasswordBytes {
		c.wrong("data",
			"a one-time password is at most 1 KiB, this one has %d bytes; send other messages with another task_type", n)
	}
	if c.DueMs > c.Clock.Now().Add(PasswordHorizon).UnixMilli() {
		c.wrong("sch_time", "a one-time password is scheduled at most an hour ahead")
	}
}

func (c *checker) webhook(data []byte) {
	var d task.Webhook
	if !c.decode(data, &d) {
		return
	}
	c.url("data.url", d.URL, true)
	if u, err := url.Parse(d.URL); err == nil && c.Targets.IsInternal(u) {
		c.Body.Flow = job.FlowPlatform
	}
	if d.Timeout != nil && (*d.Timeout < 1 || *d.Timeout > 300) {
		c.wrong("data.timeout", "data.timeout must be 1 to 300 seconds")
	}
	if len(d.Args) > 0 && string(d.Args) != "null" && !task.IsObject(d.Args) {
		c.wrong("data.args", "data.args must be an object")
	}
	c.url("data.callback_url", d.CallbackURL, job.Flag(d.Callback))
	headers, problem := task.MergeHeaders(c.t.GetHeaders(), d.Headers)
	if problem != "" {
		c.wrong("headers", "%s", problem)
		return
	}
	if len(headers) > 0 {
		encoded, err := json.Marshal(headers)
		if err != nil {
			c.wrong("headers", "headers cannot be stored")
		}
		c.Body.Headers = encoded
	}
}

// decode reads a payload and names the field at fault.
func (c *checker) decode(data []byte, payload any) bool {
	field, message := task.Decode(data, payload)
	if field != "" {
		c.wrong(field, "%s", message)
	}
	return field == ""
}
