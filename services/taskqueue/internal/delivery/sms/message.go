// Package sms delivers SMS tasks through any HTTP gateway, described by templates, or through Twilio's API. Every send
// is paid: a message that may have been sent is never sent again.
package sms

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/phone"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

const (
	defaultTimeout = 15 * time.Second
	maxTimeout     = time.Minute
)

// Provider sends each message in one request. It is safe for concurrent use.
type Provider struct {
	deps    provider.Deps
	sender  string // sender of tasks without senderId
	request func(m *Message) (netguard.Request, error)
	read    func(answer *netguard.Response) (id string, err error)
}

// Paid returns true, because every SMS is charged.
func (p *Provider) Paid() bool { return true }

// Handle sends one message once; the HTTP client does not retry.
func (p *Provider) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	m, err := Read(d, p.sender)
	if err != nil {
		return job.Result{}, err
	}
	q, err := p.request(&m)
	if err != nil {
		return job.Result{}, err
	}
	return p.deps.Send(ctx, q, p.read)
}

// Message holds the values available in templates.
type Message struct {
	To      string // +919812345678
	Digits  string // such as 919812345678
	Country string // such as 91
	Number  string // national, such as 9812345678
	Message string
	Sender  string // senderId of the task, otherwise the provider's sender
	OTP     string
	Type    string // name of the sub-type: OTP, Welcome, …
	JobID   string // the same in retries
	length
}

// Read returns the message of a task. sender is used if the task has no senderId.
func Read(d worker.Delivery, sender string) (Message, error) {
	var data task.SMS
	if err := json.Unmarshal(d.Body.Data, &data); err != nil {
		return Message{}, job.Permanent("bad_payload", "The stored task cannot be read").WithCause(err)
	}
	to, err := data.Accepted()
	if err != nil {
		return Message{}, err
	}
	return messageOf(d, &data, to, sender), nil
}

// national returns a number without its calling code. A reserved number has none.
func national(n phone.Number) string {
	if n.Country == 0 {
		return n.Digits
	}
	return strings.TrimPrefix(n.Digits, strconv.Itoa(n.Country))
}

func messageOf(d worker.Delivery, data *task.SMS, to phone.Number, sender string) Message {
	return Message{
		To:      to.E164(),
		Digits:  to.Digits,
		Country: strconv.Itoa(to.Country),
		Number:  national(to),
		Message: data.Message,
		Sender:  cmp.Or(data.SenderID, sender),
		OTP:     string(data.OTP),
		Type:    task.Name(d.Body.Task, d.Body.TaskType),
		JobID:   string(d.ID),
		length:  lengthOf(data.Message),
	}
}
