package simulated

import (
	"encoding/json"
	"fmt"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/push"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/whatsapp"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/mailbox"
	"github.com/labplatform/labplatform/services/taskqueue/internal/phone"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// renderPush shows the first request as FCM gets it.
func renderPush(data []byte) (mailbox.Message, error) {
	var d task.Push
	if err := json.Unmarshal(data, &d); err != nil {
		return mailbox.Message{}, err
	}
	to, token := d.Tokens, ""
	if d.Topic != "" {
		to = []string{"topic:" + d.Topic}
	} else if len(d.Tokens) > 0 {
		token = d.Tokens[0]
	}
	body, err := push.Render(&d, token)
	out := mailbox.Message{To: to, Title: d.Title, Body: string(body), Format: "json"}
	if len(d.Tokens) > 1 {
		out.Notes = append(out.Notes, fmt.Sprintf("sent once per token: %d requests, the first is shown", len(d.Tokens)))
	}
	return out, err
}

// renderWhatsApp shows the first request as the Graph interface gets it; the others are notes.
func renderWhatsApp(id job.ID, data []byte) (mailbox.Message, error) {
	var d task.WhatsApp
	if err := json.Unmarshal(data, &d); err != nil {
		return mailbox.Message{}, err
	}
	parts, err := whatsapp.Parts(id, &d)
	if err != nil {
		return mailbox.Message{}, err
	}
	title := "WhatsApp text"
	if d.Template != "" {
		title = "WhatsApp template " + d.Template
	}
	out := mailbox.Message{
		To:     []string{phone.E164(string(d.CountryCode), string(d.Contact))},
		Title:  title,
		Body:   string(parts[0]),
		Format: "json",
	}
	for _, part := range parts[1:] {
		out.Notes = append(out.Notes, "sent as its own message: "+string(part))
	}
	return out, nil
}
