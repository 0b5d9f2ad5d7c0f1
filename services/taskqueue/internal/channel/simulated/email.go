package simulated

import (
	"encoding/json"
	"fmt"
	"net/mail"
	"strings"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/email"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/mailbox"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

const defaultSender = "no-reply@outbox.invalid"

// renderEmail shows the text that a mail server would get, without the attachments.
func renderEmail(id job.ID, data []byte, now time.Time) (mailbox.Message, error) {
	var d task.Email
	if err := json.Unmarshal(data, &d); err != nil {
		return mailbox.Message{}, err
	}
	raw, err := email.Text(defaultSender, id, &d, now)
	if err != nil {
		return mailbox.Message{}, err
	}
	m := mailbox.Message{To: append(append(append([]string{}, d.To...), d.CC...), d.BCC...), Title: d.Subject,
		Body: d.HTML(), Format: "html", Raw: raw}
	parsed, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		return mailbox.Message{}, err
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
