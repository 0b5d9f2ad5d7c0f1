package submit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/phone"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// Limits of one request and its tasks.
const (
	maxBatch     = 1000
	maxTaskBytes = 64 << 10
	maxTag       = 128
	maxWindowKey = 190
	otpValidity  = 5 * time.Minute
	// maxUrgentBytes is the maximum data size of an urgent notice. FCM accepts no larger message.
	maxUrgentBytes = 4 << 10
	// maxPasswordBytes is the maximum data size of a task with a one-time password.
	maxPasswordBytes = 1 << 10
	// pastSkew is how far in the past the time of a task may be. Such a task is due immediately.
	pastSkew = 24 * time.Hour
)

// Planned is a validated task that can become a job.
type Planned struct {
	Lane     job.Lane
	Body     job.Body
	DueMs    int64 // 0: now
	Override bool
	window   string // key of the window that it may join; empty: none
	lacks    string // what the installation lacks to deliver a service's task; empty: nothing
	to       phone.Number
}

// Recipient returns the phone number of the task's recipient.
func (p *Planned) Recipient() phone.Number { return p.to }

// Targets reports which URLs may be called.
type Targets interface {
	// CheckPublic returns an error for URLs to which delivery can never succeed.
	CheckPublic(raw string) error
	// IsInternal reports whether the URL has an origin of the platform itself.
	IsInternal(u *url.URL) bool
}

// Checks validates tasks.
type Checks struct {
	Targets Targets
	Known   func(c job.Channel, provider string) bool // reports whether config.provider may have this name
	Serves  func(c job.Channel, taskType int) bool    // reports whether tasks can be delivered here
	Clock   clock.Clock
	// Country is the calling code for phone numbers without one; 0: there is no default.
	Country int
	// Mailbox accepts the special phone numbers that simulate failures.
	Mailbox bool
	// Sender reports whether a laboratory's task may use a sender; nil: any.
	Sender func(c job.Channel, lab int64, named task.Sender) bool
}

// errInstrument is returned for a message to persons with the token of an instrument interface.
var errInstrument = apperr.New(apperr.Forbidden, "INSTRUMENT_MAY_NOT_SEND",
	"An instrument's token may queue webhooks (task 4) only; messages to people are sent by a login or a service")

// checker plans one task and collects its invalid fields.
type checker struct {
	*Checks
	Planned
	t      task.Submission
	row    task.Kind
	caller task.Caller
	wrong  task.Wrong
}

// plan returns the plans of a request's tasks, or an error with all invalid fields.
func (v *Checks) plan(caller task.Caller, tasks []task.Submission, now bool) ([]Planned, error) {
	if err := tooMany("tasks", len(tasks)); err != nil {
		return nil, err
	}
	planned := make([]Planned, len(tasks))
	var wrong task.Wrong
	lacks := ""
	for i, t := range tasks {
		row, found, _ := task.Find(t.Task, t.Type)
		if caller.Instrument && found && reachesPeople(row.Channel) {
			return nil, errInstrument
		}
		p, fields := v.Check(i, t, now, caller)
		planned[i], wrong.Fields = p, append(wrong.Fields, fields...)
		lacks = cmp.Or(lacks, p.lacks)
	}
	if lacks != "" && len(wrong.Fields) == 0 {
		return nil, apperr.New(apperr.Unavailable, notConfigured,
			"This installation cannot deliver the task yet: "+lacks).WithRetryAfter(labRetry)
	}
	return planned, wrong.Err()
}

// setup rejects a task because the installation lacks something. A platform service gets a temporary error instead,
// because operators fix the installation and the message must not be parked as invalid.
func (c *checker) setup(is bool, name, text string) {
	if is && c.caller.Internal {
		c.lacks = text
		return
	}
	c.wrong.If(is, name, "%s", text)
}

func reachesPeople(c job.Channel) bool {
	return c == job.SMS || c == job.Email || c == job.Push || c == job.WhatsApp
}

// tooMany returns an error for a request without elements or with too many.
func tooMany(field string, n int) error {
	switch {
	case n == 0:
		return apperr.InvalidField(field, "the request holds no "+field[:len(field)-1])
	case n > maxBatch:
		return apperr.InvalidField(field, fmt.Sprintf("a request holds at most %d %s", maxBatch, field))
	}
	return nil
}

// Check returns the plan of the task at position index, or its invalid fields. now is set if the task has no due time
// of its own.
func (v *Checks) Check(
	index int, t task.Submission, now bool, caller task.Caller,
) (Planned, []apperr.Field) {
	row, found, known := task.Find(t.Task, t.Type)
	c := &checker{Checks: v, t: t, row: row, caller: caller, wrong: task.Wrong{Index: index}}
	c.wrong.If(!known, "task", "task %d is not one of 1 SMS, 2 email, 3 push, 4 webhook, 6 WhatsApp", t.Task)
	c.wrong.If(known && !found, "task_type", "task_type %d does not exist for task %d", t.Type, t.Task)
	c.Planned = Planned{
		Lane:     job.Lane{Channel: row.Channel, Priority: row.Priority},
		Override: t.Override,
		Body: job.Body{
			Task:      t.Task,
			TaskType:  t.Type,
			LabID:     caller.LabID,
			Caller:    caller.Name,
			Internal:  caller.Internal,
			Data:      t.Data,
			LogTag:    t.LogTag,
			Subscribe: t.Subscribe,
			OnSuccess: t.OnSuccess,
			OnFailure: t.OnFailure,
			Retry:     job.DefaultRetry,
			WindowKey: t.WindowKey,
			Flow:      job.LabFlow(caller.LabID),
		},
	}
	c.setup(found && !v.Serves(row.Channel, t.Type), "task", fmt.Sprintf("no provider is configured for task %d", t.Task))
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
	if c.urgent() {
		c.Body.Flow = job.UrgentFlow(caller.LabID)
	}
	c.window = c.Body.Window(c.Lane.Priority)
	return c.Planned, c.wrong.Fields
}

func (c *checker) settings() {
	if c.t.Retry != nil {
		c.Body.Retry = *c.t.Retry
	}
	c.wrong.If(c.Body.Retry < 0 || c.Body.Retry > job.MaxRetry, "retry", "retry must be 0 to %d", job.MaxRetry)
	if c.t.Priority != nil {
		p := *c.t.Priority
		c.wrong.If(p < int(job.Low) || p > int(job.High), "override_priority", "override_priority must be 0, 1 or 2")
		c.Lane.Priority = job.Priority(p)
	}
	c.wrong.If(len(c.Body.LogTag) > maxTag, "log_tag", "log_tag is longer than %d bytes", maxTag)
	c.wrong.If(len(c.Body.WindowKey) > maxWindowKey, "window_delay", "window_delay is longer than %d bytes", maxWindowKey)
	size := len(c.Body.Data)
	for name, value := range c.t.Headers {
		size += len(name) + len(value)
	}
	c.wrong.If(size > maxTaskBytes, "data", "a task is at most 64 KiB, this one has %d bytes", size)
}

func (c *checker) due() {
	at, err := task.ParseTime(c.t.Due)
	late := at.After(c.Clock.Now().Add(task.Horizon))
	early := err == nil && at.Before(c.Clock.Now().Add(-pastSkew)) // for example a date that was never set: year 1 or 1970
	c.wrong.If(err != nil, "sch_time", "sch_time must be written YYYY-MM-DDTHH:MM:SS in UTC")
	c.wrong.If(early, "sch_time", "sch_time is more than a day in the past; to send at once, use POST /queue/ without it")
	c.wrong.If(late, "sch_time", "sch_time is more than a year ahead; schedule the task later")
	if err == nil && !late {
		c.DueMs = max(at.UnixMilli(), 1)
		c.Body.ScheduledMs = c.DueMs
	}
}

// url checks a URL to be called by the queue, and reports whether it is the platform's own. If required is set, an
// empty URL is an error.
func (c *checker) url(field, raw string, required bool) (internal bool) {
	if raw == "" {
		c.wrong.If(required, field, "%s is missing", field)
		return false
	}
	u, unread := url.Parse(raw)
	if unread == nil && c.Targets.IsInternal(u) {
		c.wrong.If(!c.caller.Internal, field, "%s names an address of the platform itself; only its services may", field)
		return true
	}
	err := c.Targets.CheckPublic(raw)
	switch {
	case err == nil:
	case unread != nil || netguard.Unusable(raw):
		c.wrong.If(true, field, "%s: %v", field, err)
	case httpserver.LocalName(u.Hostname()):
		c.setup(true, field, fmt.Sprintf("%s: %v; TASKQUEUE_INTERNAL_ORIGINS does not name it", field, err))
	default: // another setting could allow it
		c.setup(true, field, fmt.Sprintf("%s: %v", field, err))
	}
	return false
}

func (c *checker) data() {
	if !task.IsObject(c.Body.Data) {
		c.wrong.If(true, "data", "data must be an object")
		return
	}
	switch c.row.Channel {
	case job.SMS:
		decoded(c, c.sms)
	case job.Email:
		decoded(c, c.email)
	case job.Push:
		decoded(c, c.push)
	case job.Webhook:
		decoded(c, c.webhook)
	case job.WhatsApp:
		decoded(c, c.whatsApp)
	}
	if c.row.OneTimePassword() {
		c.password()
	}
}

// urgent reports whether the task belongs to its laboratory's flow of urgent notices, which other tasks cannot use. The
// notification service marks notices of critical results with the highest priority. A notice that is large or scheduled
// too far ahead is an ordinary task, so that the reserved flow stays free.
func (c *checker) urgent() bool {
	return c.caller.Notices() && c.row.Notice() && c.Lane.Priority == job.High &&
		len(c.Body.Data) <= maxUrgentBytes && c.DueMs <= c.Clock.Now().Add(task.PasswordHorizon).UnixMilli()
}

// decoded decodes the payload and calls check with it, or adds the field that cannot be decoded to the invalid ones.
func decoded[Payload any](c *checker, check func(*Payload)) {
	var payload Payload
	field, message := task.Decode(c.Body.Data, &payload)
	c.wrong.If(field != "", field, "%s", message)
	if field == "" {
		check(&payload)
		c.senders()
	}
}

// password checks the size and due time of a one-time password, because reserved slots must not be filled by large or
// late messages.
func (c *checker) password() {
	c.Body.ExpiresMs = int64(otpValidity / time.Millisecond) // relative; made absolute when the job gets its times
	c.Body.Flow = job.OTPFlow(c.caller.LabID)
	n := len(c.Body.Data)
	c.wrong.If(n > maxPasswordBytes, "data",
		"a one-time password is at most 1 KiB, this one has %d bytes; send other messages with another task_type", n)
	c.wrong.If(c.DueMs > c.Clock.Now().Add(task.PasswordHorizon).UnixMilli(), "sch_time",
		"a one-time password is scheduled at most an hour ahead")
}

// query rejects args that make the URL too long for the HTTP client.
func (c *checker) query(d *task.Webhook) {
	u, err := url.Parse(d.URL)
	if err != nil || d.ArgsInBody(task.Method(c.Body.TaskType)) {
		return
	}
	if with, err := task.WithArgs(u, d.Args); err == nil {
		c.wrong.If(len(with.String()) > netguard.MaxURLLength, "data.args",
			"data.args make the URL longer than %d bytes; send them in a body, by POST or PUT", netguard.MaxURLLength)
	}
}

func (c *checker) webhook(d *task.Webhook) {
	if c.url("data.url", d.URL, true) {
		c.Body.Flow = job.FlowPlatform
	}
	c.wrong.If(d.Timeout != nil && (*d.Timeout < 1 || *d.Timeout > 300), "data.timeout",
		"data.timeout must be 1 to 300 seconds")
	c.wrong.If(len(d.Args) > 0 && string(d.Args) != "null" && !task.IsObject(d.Args), "data.args",
		"data.args must be an object")
	c.query(d)
	c.url("data.callback_url", d.CallbackURL, job.Flag(d.Callback))
	headers, problem := task.MergeHeaders(c.t.Headers, d.Headers)
	c.wrong.If(problem != "", "headers", "%s", problem)
	if len(headers) > 0 {
		encoded, err := json.Marshal(headers)
		c.wrong.If(err != nil, "headers", "headers cannot be stored")
		c.Body.Headers = encoded
	}
}
