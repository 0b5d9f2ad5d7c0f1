package email

import (
	"bytes"
	"errors"
	"net/mail"
	"slices"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// letter is a message with its envelope.
type letter struct {
	to   []string // RCPT TO: to, cc and bcc, each once, in angle brackets
	id   string   // Message-ID without brackets, the same over retries
	text *gomail.Msg
}

var errAddress = errors.New("an address cannot be read") // which one is not told: it is a recipient's

// compose builds the message. Blind copies are in the envelope alone.
func compose(s *Settings, id job.ID, d *task.Email, files []file, now time.Time) (*letter, error) {
	l := &letter{id: string(id) + "@" + s.MessageDomain, text: gomail.NewMsg(gomail.WithNoDefaultUserAgent())}
	if errors.Join(l.text.To(d.To...), l.text.Bcc(d.BCC...)) != nil {
		return nil, errAddress
	}
	if len(d.CC) > 0 && l.text.Cc(d.CC...) != nil {
		return nil, errAddress
	}
	everybody, err := l.text.GetRecipients()
	if err != nil {
		return nil, err
	}
	for _, to := range everybody {
		if !slices.ContainsFunc(l.to, func(known string) bool { return strings.EqualFold(known, to) }) {
			l.to = append(l.to, to)
		}
	}
	l.sender(s, d)
	l.text.Subject(oneLine(d.Subject))
	l.text.SetDateWithValue(now)
	l.text.SetMessageIDWithValue(l.id)
	l.text.SetBodyString(gomail.TypeTextHTML, d.HTML())
	for _, f := range files {
		l.text.AttachReadSeeker(f.name, bytes.NewReader(f.content), gomail.WithFileContentType(gomail.ContentType(f.kind)))
	}
	return l, nil
}

// Text is a message without attachments as a server would get it, from a sender that may name any domain.
func Text(from string, id job.ID, d *task.Email, now time.Time) (string, error) {
	l, err := compose(&Settings{From: from, MessageDomain: domain(from)}, id, d, nil, now)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	_, err = l.text.WriteTo(&text)
	return text.String(), err
}

// sender sets From; a sender whose domain is not ours to use becomes the address for replies.
func (l *letter) sender(s *Settings, d *task.Email) {
	from := mail.Address{Name: s.FromName, Address: s.From}
	if d.SenderName != "" {
		from.Name = oneLine(d.SenderName)
	}
	if own, err := mail.ParseAddress(d.SenderEmail); err == nil {
		if s.maySend(own.Address) {
			from.Address = own.Address
		} else {
			l.text.SetAddrHeaderFromMailAddress(gomail.HeaderReplyTo, own)
		}
	}
	l.text.FromMailAddress(&from)
}

// oneLine keeps a header on its line.
func oneLine(s string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(s) }
