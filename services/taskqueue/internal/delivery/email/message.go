package email

import (
	"bytes"
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"
	"golang.org/x/net/idna"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// letter is a composed message and its envelope.
type letter struct {
	to   []recipient // to, cc and bcc without duplicates
	id   string      // Message-ID without brackets, the same in retries
	text *gomail.Msg
}

// recipient is one address of the envelope.
type recipient struct {
	address string
	place   string // "cc 1": named in results instead of the address
}

var errAddress = errors.New("an address cannot be read") // does not contain the address, which is personal data

// compose builds the message. Blind copies appear only in the envelope.
func compose(s *Settings, id job.ID, d *task.Email, files []file, now time.Time) (*letter, error) {
	l := &letter{id: string(id) + "@" + s.MessageDomain, text: gomail.NewMsg(gomail.WithNoDefaultUserAgent())}
	err := errors.Join(l.address("to", d.To, l.text.To), l.address("cc", d.CC, l.text.Cc),
		l.address("bcc", d.BCC, l.text.Bcc))
	if err != nil || len(l.to) == 0 {
		return nil, errAddress
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

// withASCII returns an address with its domain in ASCII, which every server accepts.
func withASCII(address string) string {
	at := strings.LastIndexByte(address, '@')
	ascii, err := idna.Lookup.ToASCII(address[at+1:])
	if err != nil {
		return address
	}
	return address[:at+1] + ascii
}

// address adds the addresses of a field to the envelope, without duplicates, and passes all of them to header.
func (l *letter) address(field string, list []string, header func(...string) error) error {
	if len(list) == 0 {
		return nil
	}
	written := make([]string, len(list))
	for i, text := range list {
		a, err := mail.ParseAddress(text)
		if err != nil {
			return errAddress
		}
		a.Address = withASCII(a.Address)
		written[i] = a.String()
		if !slices.ContainsFunc(l.to, func(r recipient) bool { return strings.EqualFold(r.address, a.Address) }) {
			l.to = append(l.to, recipient{address: a.Address, place: fmt.Sprintf("%s %d", field, i+1)})
		}
	}
	return header(written...)
}

// ascii reports whether the addresses of all recipients are ASCII, so that the server needs no SMTPUTF8.
func (l *letter) ascii() bool {
	return !slices.ContainsFunc(l.to, func(r recipient) bool {
		return strings.ContainsFunc(r.address, func(c rune) bool { return c > unicode.MaxASCII })
	})
}

// places lists the recipients in a state by field and position, without their addresses.
func (l *letter) places(marks []byte, fate byte) string {
	var list []string
	for i, mark := range marks {
		if mark == fate {
			list = append(list, l.to[i].place)
		}
	}
	return strings.Join(list, ", ")
}

// Text returns a message without attachments, as a server would receive it. The sender may have any domain.
func Text(from string, id job.ID, d *task.Email, now time.Time) (string, error) {
	l, err := compose(&Settings{From: from, MessageDomain: domain(from)}, id, d, nil, now)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	_, err = l.text.WriteTo(&text)
	return text.String(), err
}

// sender sets From. A sender_email whose domain the provider may not use becomes Reply-To.
func (l *letter) sender(s *Settings, d *task.Email) {
	from := mail.Address{Name: s.FromName, Address: s.From}
	if name := strings.TrimSpace(oneLine(d.SenderName)); name != "" {
		from.Name = name
	}
	if own, err := mail.ParseAddress(d.SenderEmail); err == nil {
		own.Address = withASCII(own.Address)
		if s.maySend(own.Address) {
			from.Address = own.Address
		} else {
			l.text.SetAddrHeaderFromMailAddress(gomail.HeaderReplyTo, own)
		}
	}
	l.text.FromMailAddress(&from)
}

// oneLine replaces control characters, including NUL and U+0085, so that a text cannot add header lines.
func oneLine(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == '\u2028' || c == '\u2029' {
			return ' '
		}
		return c
	}, s)
}
