// Package task owns the catalogue of tasks (task, task_type, default priority), the shape of each payload, and who
// submits. It knows no store.
package task

import (
	"encoding/json"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// The documented task numbers. 5 does not exist.
const (
	numberSMS      = 1
	numberEmail    = 2
	numberPush     = 3
	numberWebhook  = 4
	numberWhatsApp = 6
)

// TimeLayout is how every time of the interface is written, in UTC.
const TimeLayout = "2006-01-02T15:04:05"

// Caller is who submits.
type Caller struct {
	LabID    int64  // 0: an internal service that acts for none
	Name     string // "user:77" is a lab user, "doctor:77", "service:rerun"
	Internal bool   // a service of the platform: internal origins are allowed, and the jobs of all laboratories
}

// Sees reports whether the jobs of a laboratory exist for the caller.
func (c Caller) Sees(lab int64) bool { return c.Internal || lab == c.LabID }

// Kind is one row of the documented table.
type Kind struct {
	Task, Type int
	Channel    job.Channel
	Priority   job.Priority
	name       string
}

func kinds() []Kind {
	return []Kind{
		{numberSMS, 1, job.SMS, job.High, "OTP"},
		{numberSMS, 2, job.SMS, job.Low, "App Links"},
		{numberSMS, 3, job.SMS, job.Moderate, "Welcome"},
		{numberSMS, 4, job.SMS, job.Moderate, "Billing Report"},
		{numberSMS, 5, job.SMS, job.Moderate, "Appointment/HC"},
		{numberSMS, 6, job.SMS, job.Low, "Campaign"},
		{numberSMS, 7, job.SMS, job.High, "Reminder"},
		{numberEmail, 1, job.Email, job.Moderate, "Welcome"},
		{numberEmail, 2, job.Email, job.Moderate, "Billing Report"},
		{numberEmail, 3, job.Email, job.Moderate, "Admin"},
		{numberEmail, 4, job.Email, job.Low, "Misc"},
		{numberEmail, 5, job.Email, job.Low, "Template"},
		{numberEmail, 6, job.Email, job.Low, "Attachment"},
		{numberPush, 1, job.Push, job.Moderate, "Reports"},
		{numberPush, 2, job.Push, job.Moderate, "Appointment/HC"},
		{numberPush, 3, job.Push, job.Moderate, "Promotions"},
		{numberPush, 4, job.Push, job.Low, "Campaign"},
		{numberPush, 5, job.Push, job.Low, "Feedback"},
		{numberPush, 6, job.Push, job.High, "Reminders"},
		{numberWebhook, WebhookGet, job.Webhook, job.Moderate, "GET"},
		{numberWebhook, WebhookPost, job.Webhook, job.Moderate, "POST"},
		{numberWebhook, WebhookPut, job.Webhook, job.Moderate, "PUT"},
		{numberWebhook, WebhookDelete, job.Webhook, job.Moderate, "DELETE"},
		{numberWhatsApp, 1, job.WhatsApp, job.Moderate, "Welcome"},
		{numberWhatsApp, 2, job.WhatsApp, job.Moderate, "Billing Report"},
	}
}

// The sub-types of a webhook task.
const (
	WebhookGet    = 1
	WebhookPost   = 2
	WebhookPut    = 3
	WebhookDelete = 4
)

// OneTimePassword reports whether the messages are worthless when late.
func (k Kind) OneTimePassword() bool { return k.Task == numberSMS && k.Type == 1 }

// Name is the documented name of a sub-type, for the outbox; empty when there is none.
func Name(taskNumber, taskType int) string {
	row, _, _ := Find(taskNumber, taskType)
	return row.name
}

// Find returns the row of a pair; known tells whether the task number exists at all.
func Find(taskNumber, taskType int) (row Kind, found, known bool) {
	for _, k := range kinds() {
		known = known || k.Task == taskNumber
		if k.Task == taskNumber && k.Type == taskType {
			return k, true, true
		}
	}
	return Kind{}, false, known
}

// Mapping is the payload of a dictionary mapping, a task of its own kind: number 0, which /queue/ does not take.
type Mapping struct {
	Keyword string          `json:"keyword"`
	Data    json.RawMessage `json:"data"`
	// Position is among the mappings of the same keyword in one request: the last one wins.
	Position int64 `json:"position,omitempty"`
}
