// Package whatsapp delivers WhatsApp tasks through Meta's Graph API or a compatible one: it checks consent at the time
// of sending, builds the messages of a task, and classifies the API's errors.
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

// Consent reports which recipients have agreed to messages.
type Consent interface {
	// Allowed reports whether the current consent of cacheKey in laboratory labID is an opt-in. After an error, the
	// consent is unknown and no message may be sent.
	Allowed(ctx context.Context, labID int64, cacheKey string) (bool, error)
}

// Gate passes only messages with consent to the next handler.
type Gate struct {
	consent Consent
	next    worker.Handler
}

// consentDelay is how long a message waits if consents cannot be read.
const consentDelay = 30 * time.Second

// NewGate returns a Gate in front of next.
func NewGate(consent Consent, next worker.Handler) *Gate { return &Gate{consent: consent, next: next} }

// Handle checks consent at the time of sending: a recipient who opted out after the task was accepted gets no message.
// Without consent, the job fails permanently.
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

// ConsentKey returns the key of the recipient's consent: cache_key or, if it is empty, country code and number.
func ConsentKey(d *task.WhatsApp, to phone.Number) string { return cmp.Or(d.CacheKey, to.Digits) }
