// Package whatsapp owns the delivery of WhatsApp tasks through Meta's Graph interface, or one that copies it:
// consent at the moment of sending, the messages of a task, and what the interface's errors mean.
package whatsapp

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/phone"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Consent knows who may be written to.
type Consent interface {
	// Allowed reports whether the present consent of cacheKey in laboratory labID is an opt-in. An error means that
	// no one knows at the moment.
	Allowed(ctx context.Context, labID int64, cacheKey string) (bool, error)
}

// Gate lets messages with consent pass to a handler.
type Gate struct {
	consent Consent
	next    worker.Handler
}

// consentDelay is how long a message waits while no one knows whether its recipient agreed.
const consentDelay = 30 * time.Second

// NewGate makes a gate in front of next.
func NewGate(consent Consent, next worker.Handler) *Gate { return &Gate{consent: consent, next: next} }

// Handle checks consent at the moment of sending: a recipient who opted out since the task was accepted gets nothing.
func (g *Gate) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	var data task.WhatsApp
	if err := json.Unmarshal(d.Body.Data, &data); err != nil {
		return job.Result{}, job.Permanent("bad_payload", "The stored task cannot be read").WithCause(err)
	}
	to, err := data.Accepted()
	if err != nil {
		return job.Result{}, err
	}
	allowed, err := g.consent.Allowed(ctx, d.Body.LabID, ConsentKey(&data, to))
	switch {
	case err != nil:
		return job.Result{}, job.Postpone("consent_unavailable", consentDelay).WithCause(err)
	case !allowed:
		return job.Result{}, job.Permanent("consent_missing",
			"consent_missing: the recipient has not agreed to WhatsApp messages")
	}
	return g.next.Handle(ctx, d)
}

// ConsentKey is what the recipient's consent is stored under: cache_key, else country code and number.
func ConsentKey(d *task.WhatsApp, to phone.Number) string { return cmp.Or(d.CacheKey, to.Digits) }
