// Package kinds owns which kinds of provider exist for each channel, and how a row's settings become a sender.
package kinds

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/email"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/push"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/route"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/sms"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/whatsapp"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Outbox is the kind that keeps messages in the mailbox; any channel may have it.
const Outbox = "outbox"

// Deps are what the senders work with.
type Deps struct {
	API     provider.Client // for the providers' interfaces
	Files   provider.Client // for attachments: reads email.MaxFileBytes
	Secrets provider.Secrets
	Clock   clock.Clock
	Log     *slog.Logger
	TLS     *tls.Config  // of mail servers; nil: the system's roots
	Outbox  route.Sender // nil: the kind does not exist here
}

// Factory makes senders. The kind is settings.kind, or the provider's name when there is none.
func Factory(deps Deps) route.Factory {
	return func(c job.Channel, name string, settings json.RawMessage) (route.Sender, error) {
		kind, err := kindOf(name, settings)
		if err != nil {
			return nil, err
		}
		if kind == Outbox && deps.Outbox != nil {
			return deps.Outbox, nil
		}
		return deps.sender(c, kind, settings)
	}
}

func kindOf(name string, settings json.RawMessage) (string, error) {
	var s struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(settings, &s); err != nil {
		return "", fmt.Errorf("settings are not a JSON object: %w", err)
	}
	if s.Kind == "" {
		return name, nil
	}
	return s.Kind, nil
}

// sender makes a sender of a real provider. Its settings are checked here, once.
func (d *Deps) sender(c job.Channel, kind string, settings json.RawMessage) (route.Sender, error) {
	texts := sms.Deps{Client: d.API, Secrets: d.Secrets, Clock: d.Clock}
	switch c.String() + " " + kind {
	case "email smtp":
		return checked(email.New(settings, email.Deps{Files: d.Files, Secrets: d.Secrets, Clock: d.Clock, TLS: d.TLS}))
	case "sms http":
		return checked(sms.NewGateway(settings, texts))
	case "sms twilio":
		return checked(sms.NewTwilio(settings, texts))
	case "push fcm":
		return checked(push.New(settings, push.Deps{Client: d.API, Secrets: d.Secrets, Clock: d.Clock, Log: d.Log}))
	case "whatsapp graph":
		return checked(whatsapp.New(settings, whatsapp.Deps{Client: d.API, Secrets: d.Secrets, Clock: d.Clock}))
	}
	return nil, fmt.Errorf("kind %q does not exist for %s: use %s", kind, c, known(c))
}

// checked keeps a nil sender beside an error.
func checked[T route.Sender](s T, err error) (route.Sender, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

func known(c job.Channel) string {
	return map[job.Channel]string{job.Email: "smtp", job.SMS: "http or twilio", job.Push: "fcm", job.WhatsApp: "graph"}[c]
}
