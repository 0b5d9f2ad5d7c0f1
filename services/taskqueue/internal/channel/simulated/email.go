package simulated

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/mailbox"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

const defaultSender = "no-reply@outbox.invalid"

func renderEmail(id job.ID, data []byte, now time.Time) (mailbox.Message, error) {
	var d task.Email
	if err := json.Unmarshal(data, &d); err != nil {
		return mailbox.Message{}, err
	}
	html := d.Message
	if job.Flag(d.IsTemplate) {
		html = d.Template
	}
	m := mailbox.Message{
		To:     append(append(append([]string{}, d.To...), d.CC...), d.BCC...),
		Title:  d.Subject,
		Body:   html,
		Format: "html",
	}
	from := mail.Address{Name: d.SenderName, Address: d.SenderEmail}
	if from.Address == "" {
		from.Address = defaultSender
	}
	m.Headers = append(m.Headers, mailbox.Header{Name: "From", Value: from.String()},
		mailbox.Header{Name: "To", Value: addresses(d.To)})
	if len(d.CC) > 0 {
		m.Headers = append(m.Headers, mailbox.Header{Name: "Cc", Value: addresses(d.CC)})
	}
	m.Headers = append(
		m.Headers,
		mailbox.Header{Name: "Subject", Value: mime.QEncoding.Encode("utf-8", oneLine(d.Subject))},
		mailbox.Header{Name: "Date", Value: now.UTC().Format(time.RFC1123Z)},
		mailbox.Header{Name: "Message-ID", Value: "<" + string(id) + "@outbox.invalid>"},
		mailbox.Header{Name: "MIME-Version", Value: "1.0"},
		mailbox.Header{Name: "Content-Type", Value: "text/html; charset=utf-8"},
		mailbox.Header{Name: "Content-Transfer-Encoding", Value: "quoted-printable"},
	)
	for _, file := range d.Files {
		m.Notes = append(m.Notes, "attachment (not fetched here): "+file)
	}
	if len(d.BCC) > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("%d blind copies, in the envelope only", len(d.BCC)))
	}
	raw, err := mimeText(m.Headers, html)
	m.Raw = raw
	return m, err
}

func addresses(list []string) string {
	out := make([]string, 0, len(list))
	for _, text := range list {
		if a, err := mail.ParseAddress(text); err == nil {
			out = append(out, a.String())
		}
	}
	return strings.Join(out, ", ")
}

// oneLine keeps a header on its line.
func oneLine(s string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(s) }

func mimeText(headers []mailbox.Header, html string) (string, error) {
	var text bytes.Buffer
	for _, h := range headers {
		_, _ = fmt.Fprintf(&text, "%s: %s\r\n", h.Name, h.Value)
	}
	text.WriteString("\r\n")
	w := quotedprintable.NewWriter(&text)
	if _, err := w.Write([]byte(html)); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return text.String(), nil
}
