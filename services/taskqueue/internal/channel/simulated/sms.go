package simulated

import (
	"encoding/json"
	"fmt"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/sms/segment"
	"github.com/labplatform/labplatform/services/taskqueue/internal/mailbox"
	"github.com/labplatform/labplatform/services/taskqueue/internal/phone"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

func renderSMS(data []byte) (mailbox.Message, error) {
	var d task.SMS
	if err := json.Unmarshal(data, &d); err != nil {
		return mailbox.Message{}, err
	}
	count := segment.Of(d.Message)
	m := mailbox.Message{
		To:     []string{phone.E164(string(d.CountryCode), string(d.Contact))},
		Title:  "SMS",
		Body:   d.Message,
		Format: "text",
		Notes:  []string{fmt.Sprintf("%s, %d units, %d segments", count.Alphabet, count.Units, count.Parts)},
	}
	if d.SenderID != "" {
		m.Headers = append(m.Headers, mailbox.Header{Name: "Sender", Value: d.SenderID})
	}
	return m, nil
}
