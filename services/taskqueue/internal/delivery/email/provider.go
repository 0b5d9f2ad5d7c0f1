package email

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/pkg/slots"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/progress"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

const (
	withFiles = 4 // maximum number of concurrent messages with attachments; each uses up to 20 MiB
	busyDelay = time.Second
	// slotPatience is how long a message waits for a slot. Without it, all waiting messages of a campaign would be claimed
	// and returned once per busyDelay.
	slotPatience = 200 * time.Millisecond
)

// Provider sends through one SMTP server. It is safe for concurrent use.
type Provider struct {
	deps     provider.Deps
	settings Settings
	slots    *slots.Slots[int64] // of messages with attachments, by laboratory
}

// New returns a provider for the settings of a row.
func New(raw json.RawMessage, deps provider.Deps) (*Provider, error) {
	s, err := parse(raw)
	if err != nil {
		return nil, err
	}
	p := &Provider{deps: deps, settings: s, slots: slots.New[int64](withFiles)}
	_, err = p.password()
	return p, err
}

// Paid returns false: a second send costs nothing, and receivers drop the duplicate by its Message-ID.
func (p *Provider) Paid() bool { return false }

func (p *Provider) password() (config.Secret, error) {
	if p.settings.User == "" {
		return "", nil
	}
	return p.deps.Secrets.Secret(p.settings.PasswordSecret)
}

// Handle makes one attempt to send a message.
func (p *Provider) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	var data task.Email
	if err := json.Unmarshal(d.Body.Data, &data); err != nil {
		return job.Result{}, job.Permanent("bad_payload", "The stored task cannot be read").WithCause(err)
	}
	if len(data.Files) > 0 {
		leave := p.slots.Take(d.Body.LabID)
		if leave == nil && lifecycle.Pause(ctx, slotPatience) == nil {
			leave = p.slots.Take(d.Body.LabID)
		}
		if leave == nil {
			return job.Result{}, job.Postpone("attachments_busy", busyDelay)
		}
		defer leave()
	}
	now := p.deps.Clock.Now()
	files, err := fetch(ctx, p.deps.Files, data.Files, now)
	if err != nil {
		failure := *job.AsFailure(err)
		failure.OfMessage = true
		return job.Result{}, &failure
	}
	l, err := compose(&p.settings, d.ID, &data, files, now)
	if err != nil {
		return job.Result{}, job.Permanent("bad_address", "The message holds an address that cannot be used").WithCause(err)
	}
	return p.send(ctx, l, progress.Read(d.Body, len(l.to)))
}

// send sends the message to the recipients that do not have it yet. It returns the states of the recipients with the
// result, so that a retry includes only the rest.
func (p *Provider) send(ctx context.Context, l *letter, marks []byte) (job.Result, error) {
	password, err := p.password()
	if err != nil {
		return job.Result{}, provider.NoSecret("The password of the mail server cannot be read")
	}
	if progress.Count(marks, progress.Left) == 0 { // a job retried by an operator: try the refused recipients again
		marks = bytes.ReplaceAll(marks, []byte{progress.Refused}, []byte{progress.Left})
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	limit := time.AfterFunc(p.settings.timeout(), cancel)
	defer limit.Stop()
	client, hangUp, err := p.open(ctx, password)
	if err != nil {
		return job.Result{}, openFailure(err)
	}
	defer hangUp()
	client.SkipSMTPUTF8(l.ascii())
	t := transaction{client: client, letter: l, marks: marks}
	err = t.deliver(p.settings.From, func() { limit.Reset(finalReply) })
	sent := progress.Count(marks, progress.Sent) > 0
	result := job.Result{Sent: sent || job.AsFailure(err).Doubtful} // a message possibly sent cannot be cancelled
	if len(marks) > 1 {
		result.Progress = marks
	}
	if sent {
		result.MessageID = l.id
	}
	if refused := l.places(marks, progress.Refused); refused != "" && sent {
		result.Excerpt = "The mail server refused " + refused
	}
	if err == nil && client.UpdateDeadline(quitTimeout) == nil {
		_ = client.Quit() // the message was accepted, whatever QUIT returns
	}
	return result, err
}
