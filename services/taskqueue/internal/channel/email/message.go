package email

import (
	"bytes"
	"fmt"
	"net/mail"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// letter is a message with its envelope.
type letter struct {
	from string   // MAIL FROM
	to   []string // RCPT TO: to, cc and bcc, each once
	id   string   // Message-ID without brackets, the same over retries
	text *gomail.Msg
}

// compose builds the message. Blind copies are in the envelope alone.
func compose(s *Settings, id job.ID, d *task.Email, files []file, now time.Time) (*letter, error) {
	l := &letter{
		from: s.From,
		id:   string(id) + "@" + s.MessageDomain,
		text: gomail.NewMsg(gomail.WithNoDefaultUserAgent()),
	}
	to, cc, bcc, err := recipients(d)
	if err != nil {
		return nil, err
	}
	l.to = unique(to, cc, bcc)
	l.sender(s, d)
	l.text.SetAddrHeaderFromMailAddress(gomail.HeaderTo, to...)
	if len(cc) > 0 {
		l.text.SetAddrHeaderFromMailAddress(gomail.HeaderCc, cc...)
	}
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

func recipients(d *task.Email) (to, cc, bcc []*mail.Address, err error) {
	for _, group := range []struct {
		texts []string
		into  *[]*mail.Address
	}{{d.To, &to}, {d.CC, &cc}, {d.BCC, &bcc}} {
		for _, text := range group.texts {
			a, err := mail.ParseAddress(text)
			if err != nil {
				return nil, nil, nil, fmt.Errorf("an address cannot be read: %w", err)
			}
			*group.into = append(*group.into, a)
		}
	}
	return to, cc, bcc, nil
}

func unique(groups ...[]*mail.Address) []string {
	var list []string
	seen := map[string]bool{}
	for _, group := range groups {
		for _, a := range group {
			if key := strings.ToLower(a.Address); !seen[key] {
				seen[key] = true
				list = append(list, a.Address)
			}
		}
	}
	return list
}

// oneLine keeps a header on its line.
func oneLine(s string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(s) }
