// Package task contains the catalogue of tasks (task, task_type, default priority), the types of their payloads, and
// the caller of a request. It does not use a store.
package task

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// TimeLayout is the layout of all times in the API, in UTC.
const TimeLayout = "2006-01-02T15:04:05"

// Horizon is how far ahead a task may be scheduled, PasswordHorizon how far ahead a one-time password.
const (
	Horizon         = 366 * 24 * time.Hour
	PasswordHorizon = time.Hour
)

// ParseTime parses a time of the API. A trailing Z is accepted; other zones are not.
func ParseTime(text string) (time.Time, error) {
	return time.Parse(TimeLayout, strings.TrimSuffix(text, "Z"))
}

// Caller is the principal that submits tasks.
type Caller struct {
	LabID int64  // 0: an internal service without a laboratory
	Name  string // "user:77" is a lab user, "doctor:77", "service:rerun"
	// Instrument is set for the token of an instrument interface, which may send webhooks but no messages to persons.
	Instrument bool
	Internal   bool // a platform service, which may use internal origins and read the jobs of all laboratories
}

// Sees reports whether the caller may read jobs of a laboratory.
func (c Caller) Sees(lab int64) bool { return c.Internal || lab == c.LabID }

// Kind is a row of the documented table of tasks.
type Kind struct {
	Task, Type int
	Channel    job.Channel
	Priority   job.Priority
	name       string
}

// kinds is the documented table. There is no task 5.
var kinds = []Kind{
	{1, 1, job.SMS, job.High, "OTP"},
	{1, 2, job.SMS, job.Low, "App Links"},
	{1, 3, job.SMS, job.Moderate, "Welcome"},
	{1, 4, job.SMS, job.Moderate, "Billing Report"},
	{1, 5, job.SMS, job.Moderate, "Appointment/HC"},
	{1, 6, job.SMS, job.Low, "Campaign"},
	{1, 7, job.SMS, job.High, "Reminder"},
	{2, 1, job.Email, job.Moderate, "Welcome"},
	{2, 2, job.Email, job.Moderate, "Billing Report"},
	{2, 3, job.Email, job.Moderate, "Admin"},
	{2, 4, job.Email, job.Low, "Misc"},
	{2, 5, job.Email, job.Low, "Template"},
	{2, 6, job.Email, job.Low, "Attachment"},
	{3, 1, job.Push, job.Moderate, "Reports"},
	{3, 2, job.Push, job.Moderate, "Appointment/HC"},
	{3, 3, job.Push, job.Moderate, "Promotions"},
	{3, 4, job.Push, job.Low, "Campaign"},
	{3, 5, job.Push, job.Low, "Feedback"},
	{3, 6, job.Push, job.High, "Reminders"},
	{4, WebhookGet, job.Webhook, job.Moderate, "GET"},
	{4, WebhookPost, job.Webhook, job.Moderate, "POST"},
	{4, WebhookPut, job.Webhook, job.Moderate, "PUT"},
	{4, WebhookDelete, job.Webhook, job.Moderate, "DELETE"},
	{6, 1, job.WhatsApp, job.Moderate, "Welcome"},
	{6, 2, job.WhatsApp, job.Moderate, "Billing Report"},
}

// Sub-types of a webhook task.
const (
	WebhookGet    = 1
	WebhookPost   = 2
	WebhookPut    = 3
	WebhookDelete = 4
)

// OneTimePassword reports whether the task sends a one-time password, which is useless if it is late.
func (k Kind) OneTimePassword() bool { return k.Task == 1 && k.Type == 1 }

// Notice reports whether the task is a notice about a report. Only such a task can be urgent.
func (k Kind) Notice() bool { return k.Channel == job.Push && k.Type == 1 }

// NoticeCaller is the only caller whose notices may be urgent.
const NoticeCaller = "service:notifications"

// Notices reports whether the caller is the notification service. The name is unforgeable: only service tokens have
// names of this form, and no other service can have this one.
func (c Caller) Notices() bool { return c.Internal && c.Name == NoticeCaller }

// Name returns the documented name of a sub-type, for the mailbox and templates; empty if it has none.
func Name(taskNumber, taskType int) string {
	row, _, _ := Find(taskNumber, taskType)
	return row.name
}

// Find returns the row of a task and sub-type. known reports whether the task number exists.
func Find(taskNumber, taskType int) (row Kind, found, known bool) {
	for _, k := range kinds {
		known = known || k.Task == taskNumber
		if k.Task == taskNumber && k.Type == taskType {
			return k, true, true
		}
	}
	return Kind{}, false, known
}

// Mapping is the payload of a dictionary mapping. It is a job with task number 0, which /queue/ does not accept.
type Mapping struct {
	Keyword string          `json:"keyword"`
	Data    json.RawMessage `json:"data"`
	// Position orders the mappings of the same keyword in a request; the last one is used.
	Position int64 `json:"position,omitempty"`
}
