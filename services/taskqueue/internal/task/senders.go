package task

import (
	"encoding/json"
	"net/mail"
	"slices"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Senders lists whom a task names as its sender: the address of a mail, the sender id and the provider of an SMS, the
// provider of a WhatsApp message. A provider counts, because its row has a number of its own.
func Senders(c job.Channel, data []byte) ([]string, error) {
	var d struct {
		SenderID string   `json:"senderId"`
		Email    string   `json:"sender_email"`
		Config   Provider `json:"config"`
	}
	switch c {
	case job.SMS, job.WhatsApp, job.Email:
	default:
		return nil, nil
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	names := []string{d.SenderID, d.Config.Provider}
	if c == job.WhatsApp {
		names = []string{d.Config.Provider}
	}
	if c == job.Email {
		names = nil
		if address, err := mail.ParseAddress(d.Email); err == nil {
			names = []string{address.Address}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" }), nil
}
