// Package kinds is the registry of provider kinds by channel. It creates senders from the settings of rows.
package kinds

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/route"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/email"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/push"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/sms"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/whatsapp"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Outbox is a kind for any channel. It stores messages in the mailbox of a development installation instead of sending
// them.
const Outbox = "outbox"

// maker checks the settings of a real provider and creates its sender.
type maker func(settings json.RawMessage, deps provider.Deps) (route.Sender, error)

func makers(c job.Channel) map[string]maker {
	return map[job.Channel]map[string]maker{
		job.Email:    {"smtp": made(email.New)},
		job.SMS:      {"http": made(sms.NewGateway), "twilio": made(sms.NewTwilio)},
		job.Push:     {"fcm": made(push.New)},
		job.WhatsApp: {"graph": made(whatsapp.New)},
	}[c]
}

// made wraps create to return a nil interface after an error, because an interface with a nil pointer is not nil.
func made[T route.Sender](create func(json.RawMessage, provider.Deps) (T, error)) maker {
	return func(settings json.RawMessage, deps provider.Deps) (route.Sender, error) {
		s, err := create(settings, deps)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

// Factory returns a factory of senders. The kind is settings.kind or, if that is missing, the provider's name. outbox
// is the sender of kind Outbox; if it is nil, that kind is rejected.
func Factory(deps provider.Deps, outbox route.Sender) route.Factory {
	return func(c job.Channel, name string, settings json.RawMessage) (route.Sender, error) {
		var s struct {
			Kind string `json:"kind"`
		}
		if err := json.Unmarshal(settings, &s); err != nil {
			return nil, fmt.Errorf("settings are not a JSON object: %w", err)
		}
		kind, known := cmp.Or(s.Kind, name), makers(c)
		if kind == Outbox && outbox != nil {
			return outbox, nil
		}
		if create := known[kind]; create != nil {
			return create(settings, deps)
		}
		names := strings.Join(slices.Sorted(maps.Keys(known)), " or ")
		return nil, fmt.Errorf("kind %q does not exist for %s: use %s", kind, c, names)
	}
}
