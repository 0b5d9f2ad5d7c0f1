package simulated

import (
	"encoding/json"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/email"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/push"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/sms"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/whatsapp"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mailbox"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// render returns a message as the provider of its channel would receive it.
func render(d worker.Delivery, now time.Time) (m mailbox.Message, err error) {
	switch d.ID.Lane().Channel {
	case job.SMS:
		return renderSMS(d)
	case job.Email:
		var data task.Email
		if err = json.Unmarshal(d.Body.Data, &data); err == nil {
			m, err = renderEmail(d.ID, &data, now)
		}
	case job.Push:
		var data task.Push
		if err = json.Unmarshal(d.Body.Data, &data); err == nil {
			m, err = renderPush(&data)
		}
	default:
		var data task.WhatsApp
		if err = json.Unmarshal(d.Body.Data, &data); err == nil {
			m, err = renderWhatsApp(d, &data)
		}
	}
	return m, err
}

func renderSMS(d worker.Delivery) (mailbox.Message, error) {
	s, err := sms.Read(d, "")
	m := mailbox.Message{
		To:     []string{s.To},
		Title:  "SMS",
		Body:   s.Message,
		Format: "text",
		Notes:  []string{fmt.Sprintf("%s, %d units, %d segments", s.Alphabet, s.Units, s.Parts)},
	}
	if s.Sender != "" {
		m.Headers = []mailbox.Header{{Name: "Sender", Value: s.Sender}}
	}
	return m, err
}

// renderEmail returns the text that a mail server would receive, without attachments.
func renderEmail(id job.ID, d *task.Email, now time.Time) (mailbox.Message, error) {
	raw, err := email.Text("no-reply@outbox.invalid", id, d, now)
	if err != nil {
		return mailbox.Message{}, err
	}
	m := mailbox.Message{To: slices.Concat(d.To, d.CC, d.BCC), Title: d.Subject, Body: d.HTML(), Format: "html", Raw: raw}
	parsed, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		return m, err
	}
	for _, name := range []string{"From", "Reply-To", "To", "Cc", "Subject", "Date", "Message-ID", "MIME-Version",
		"Content-Type", "Content-Transfer-Encoding"} {
		if value := parsed.Header.Get(name); value != "" {
			m.Headers = append(m.Headers, mailbox.Header{Name: name, Value: value})
		}
	}
	for _, file := range d.Files {
		m.Notes = append(m.Notes, "attachment (not fetched here): "+file)
	}
	if len(d.BCC) > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("%d blind copies, in the envelope only", len(d.BCC)))
	}
	return m, nil
}

// renderPush returns the first request as FCM would receive it.
func renderPush(d *task.Push) (mailbox.Message, error) {
	m := mailbox.Message{To: d.Tokens, Title: d.Title, Format: "json"}
	token := ""
	switch {
	case d.Topic != "":
		m.To = []string{"topic:" + d.Topic}
	case len(d.Tokens) > 0:
		token = d.Tokens[0]
	}
	if n := len(d.Tokens); n > 1 {
		m.Notes = []string{fmt.Sprintf("sent once per token: %d requests, the first is shown", n)}
	}
	body, err := push.Render(d, token)
	m.Body = string(body)
	return m, err
}

// renderWhatsApp returns the first request as the Graph API would receive it. Further requests become notes.
func renderWhatsApp(d worker.Delivery, data *task.WhatsApp) (mailbox.Message, error) {
	to, err := data.Accepted()
	if err != nil {
		return mailbox.Message{}, err
	}
	parts, err := whatsapp.Parts(d.ID, data, to)
	if err != nil {
		return mailbox.Message{}, err
	}
	m := mailbox.Message{
		To:     []string{to.E164()},
		Title:  "WhatsApp text",
		Body:   string(parts[0]),
		Format: "json",
	}
	if data.Template != "" {
		m.Title = "WhatsApp template " + data.Template
	}
	for _, part := range parts[1:] {
		m.Notes = append(m.Notes, "sent as its own message: "+string(part))
	}
	return m, nil
}
