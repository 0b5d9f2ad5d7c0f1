// Package notify handles the triggers of other services: it stores a notification with its push message.
//
// The inbox does not depend on the push: the notification and the message to the task queue are committed together, and
// the outbox delivers the message afterwards.
package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// Gateway is the only push gateway.
const Gateway = "fcm"

// Store keeps notifications.
type Store interface {
	// Kind returns an active type with the laboratory's switch and wording, or notification.ErrNoType.
	Kind(ctx context.Context, lab authn.LabScope, typeID int64) (notification.Kind, error)
	// Add stores the notification and the message that push makes of its id in one transaction. A dedupe key that exists
	// adds nothing and returns the id of its notification.
	Add(ctx context.Context, lab authn.LabScope, n New, push func(id int64) (outbox.Event, error), now time.Time) (
		id int64, added bool, err error)
}

// Messages makes the outbox message that pushes a notification to its topics.
type Messages interface {
	Push(lab authn.LabScope, notificationID int64, pushes []Push) (outbox.Event, error)
}

// New is a notification to store. Ids that are 0 are not set.
type New struct {
	TypeID                     int64
	OrgID, LabUserID, DoctorID int64
	Message                    notification.Message
	Context                    json.RawMessage
	Topic                      string
	DedupeKey                  string // "": every call is a notification of its own
}

// Push is the content of a push message. It has nothing about a patient, because lock screens show it.
type Push struct {
	Topic       string
	For         string // the kind of the topic's addressee
	Title, Body string
	TypeID      int64
	ReportID    int64
	BillID      int64
	Urgent      bool
}

// Observer counts triggers.
type Observer interface {
	Notified(outcome Outcome)
}

// Signals wakes the open pages of a laboratory.
type Signals interface {
	Changed(ctx context.Context, lab authn.LabScope)
}

// Outcome is the outcome of a trigger.
type Outcome string

// The outcomes.
const (
	Stored   Outcome = "stored"
	Repeated Outcome = "repeated" // the notification was there already
	Off      Outcome = "disabled" // by the laboratory
)

// Outcomes lists all outcomes, for metrics.
func Outcomes() []Outcome { return []Outcome{Stored, Repeated, Off} }

// Deps is what the use case needs.
type Deps struct {
	Store    Store
	Messages Messages
	Zone     notification.Zone
	Clock    clock.Clock
	Observer Observer
	// WakeRelay has the outbox delivered at once.
	WakeRelay func()
	Signals   Signals
}

// Notifier is the use case. Its methods may be called from several goroutines.
type Notifier struct{ d Deps }

// NewNotifier returns the use case.
func NewNotifier(d Deps) *Notifier { return &Notifier{d} }

// Trigger is a request to notify.
type Trigger struct {
	Gateway        string
	TypeID         int64
	Context        []byte // a JSON object
	IdempotencyKey string // "": a repeat is recognised by type, subject and minute
}

// Result is the result of a trigger.
type Result struct {
	Outcome        Outcome
	NotificationID int64
	Topic          string
}

// Notify stores a notification for the addressees of the context. p must be a service.
func (n *Notifier) Notify(ctx context.Context, p authn.Principal, t Trigger) (Result, error) {
	if t.Gateway != Gateway {
		return Result{}, apperr.New(apperr.NotFound, "GATEWAY_NOT_FOUND", "There is no such gateway; use fcm")
	}
	c, err := notification.ParseContext(t.Context)
	if err != nil {
		return Result{}, err
	}
	lab, err := p.Scope(c.LabID)
	if err != nil {
		return Result{}, err
	}
	kind, err := n.d.Store.Kind(ctx, lab, t.TypeID)
	if err != nil {
		return Result{}, err
	}
	if kind.Disabled {
		n.d.Observer.Notified(Off)
		return Result{Outcome: Off}, nil
	}
	now := n.d.Clock.Now()
	record, pushes := n.compose(kind, c.Addressed(), t, now)
	id, added, err := n.d.Store.Add(ctx, lab, record, func(id int64) (outbox.Event, error) {
		return n.d.Messages.Push(lab, id, pushes)
	}, now)
	if err != nil {
		return Result{}, err
	}
	outcome := Repeated
	if added {
		outcome = Stored
		n.d.WakeRelay()
		n.d.Signals.Changed(ctx, lab)
	}
	n.d.Observer.Notified(outcome)
	return Result{Outcome: outcome, NotificationID: id, Topic: record.Topic}, nil
}

// compose returns the entry of the inbox and a push for each topic.
func (n *Notifier) compose(kind notification.Kind, c notification.Context, t Trigger, now time.Time) (New, []Push) {
	title, body := kind.WordingFor(c)
	var pushes []Push
	for _, ref := range notification.RefsOf(kind, c) {
		pushes = append(pushes, Push{
			Topic: n.d.Zone.Topic(kind.ID, ref), For: ref.Kind, Title: title, Body: body, TypeID: kind.ID,
			ReportID: c.ReportID, BillID: c.BillID, Urgent: kind.ID == notification.CriticalReport,
		})
	}
	message := notification.Message{Title: title, Body: body, Data: c.Data()}
	if c.Title != "" {
		message.Title = c.Title
	}
	if c.Body != "" {
		message.Body = c.Body
	}
	return New{
		TypeID: kind.ID, OrgID: c.OrgID, LabUserID: c.LabUserID, DoctorID: c.DoctorID, Message: message, Context: c.Raw,
		Topic: pushes[0].Topic, DedupeKey: dedupeKey(c, t, now),
	}, pushes
}

// dedupeKey returns the caller's key, or type, subject and minute; "" without a subject.
func dedupeKey(c notification.Context, t Trigger, now time.Time) string {
	if t.IdempotencyKey != "" {
		sum := sha256.Sum256([]byte(t.IdempotencyKey))
		return fmt.Sprintf("key:%d:%s", c.LabID, hex.EncodeToString(sum[:]))
	}
	if c.Subject() == "" {
		return ""
	}
	return fmt.Sprintf("about:%d:%d:%s:%d", c.LabID, t.TypeID, c.Subject(), now.Unix()/60)
}
