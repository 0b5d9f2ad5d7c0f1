package task

import (
	"encoding/json"
	"net/mail"
	"slices"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Sender is a sender named in a task, and the field that names it.
type Sender struct {
	Field, Name string
	// Display is set for a display name, which mail programs show next to the address.
	Display bool
}

// Senders returns the senders named in a task: the address and the display name of a mail, the sender id and the
// provider of an SMS, the provider of a WhatsApp message. A provider counts as a sender, because its row has its own
// number.
func Senders(c job.Channel, data []byte) (list []Sender, err error) {
	switch c {
	case job.SMS:
		var d SMS
		err = json.Unmarshal(data, &d)
		list = []Sender{{Field: "data.senderId", Name: d.SenderID}, {Field: "data.config.provider", Name: d.Config.Provider}}
	case job.WhatsApp:
		var d WhatsApp
		err = json.Unmarshal(data, &d)
		list = []Sender{{Field: "data.config.provider", Name: d.Config.Provider}}
	case job.Email:
		var d Email
		err = json.Unmarshal(data, &d)
		if address, wrong := mail.ParseAddress(d.SenderEmail); wrong == nil {
			list = []Sender{
				{Field: "data.sender_email", Name: address.Address},
				{Field: "data.sender_email", Name: address.Name, Display: true}, // mail programs show it in Reply-To
			}
		}
		list = append(list, Sender{Field: "data.sender_name", Name: d.SenderName, Display: true})
	}
	return slices.DeleteFunc(list, func(s Sender) bool { return s.Name == "" }), err
}
