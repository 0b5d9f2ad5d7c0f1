package task

import "github.com/labplatform/labplatform/services/taskqueue/internal/job"

// The documented task numbers. 5 does not exist.
const (
	numberSMS      = 1
	numberEmail    = 2
	numberPush     = 3
	numberWebhook  = 4
	numberWhatsApp = 6
)

// kind is one row of the documented table.
type kind struct {
	task, taskType int
	channel        job.Channel
	priority       job.Priority
	name           string
}

func kinds() []kind {
	return []kind{
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

// typeOTP is the sub-type of one-time passwords: worthless when late.
const typeOTP = 1

// Name is the documented name of a sub-type, for the outbox; empty when there is none.
func Name(taskNumber, taskType int) string {
	for _, k := range kinds() {
		if k.task == taskNumber && k.taskType == taskType {
			return k.name
		}
	}
	return ""
}

// find returns the row of a pair; known tells whether the task number exists at all.
func find(taskNumber, taskType int) (row kind, found, known bool) {
	for _, k := range kinds() {
		if k.task != taskNumber {
			continue
		}
		known = true
		if k.taskType == taskType {
			return k, true, true
		}
	}
	return kind{}, false, known
}
