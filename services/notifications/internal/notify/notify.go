// Package notify stores notifications with their push messages on behalf of other services.
//
// The inbox does not depend on the push: the notification and the message to the task queue are committed together, and
// the outbox delivers the message afterwards.
package notify

import (
	"context"
	"encoding/json"
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
	// Kind returns an active type with the laboratory's switch and wording, or notification.ErrNoType or ErrTypeInactive.
	Kind(ctx context.Context, lab authn.LabScope, typeID int64) (notification.Kind, error)
	// Add stores the notification and, unless push is nil, the message that push creates from its id, in one transaction.
	// If the deduplication key exists or was withdrawn, it stores nothing.
	Add(ctx context.Context, lab authn.LabScope, n New, push func(id int64) (outbox.Event, error), now time.Time) (
		Addition, error)
	// Subscribed returns the devices of the laboratory's logins that are subscribed to any of the topics.
	Subscribed(ctx context.Context, lab authn.LabScope, topics []string) (Devices, error)
}

// Devices are the devices that are subscribed to some topics.
type Devices struct {
	Topics [][]string // the subsets of the topics, each once
	// Used is set if one of the devices does not belong to a lab user who was removed.
	Used bool
}

// Addition is the result of Add.
type Addition struct {
	Outcome Outcome // one of Stored, Repeated, Withdrawn
	ID      int64   // 0: Withdrawn
	First   First   // for Repeated: the notification that has the deduplication key
}

// First is the notification that was first stored with a deduplication key.
type First struct {
	TypeID  int64
	Context json.RawMessage
	Topic   string
}

// Messages creates the outbox message that pushes a notification to its topics.
type Messages interface {
	Push(lab authn.LabScope, notificationID int64, pushes []Push) (outbox.Event, error)
}

// New is a notification to store. An id of 0 is not set.
type New struct {
	TypeID                     int64
	OrgID, LabUserID, DoctorID int64
	Message                    notification.Message
	Context                    json.RawMessage
	Topic                      string
	DedupeKey                  string // "": every call is a notification of its own
}

// Push is the content of a push message. It contains no patient data, because lock screens show it.
type Push struct {
	Topic       string
	For         string // kind of the topic's addressee
	Title, Body string
	TypeID      int64
	ReportID    int64
	BillID      int64
	Urgent      bool
}

// Observer counts triggers by outcome.
type Observer interface {
	Notified(outcome Outcome)
}

// Signals wakes the open pages of a laboratory.
type Signals interface {
	Changed(ctx context.Context, lab authn.LabScope)
}

// Outcome is the outcome of a trigger.
type Outcome string

// Outcomes of a trigger.
const (
	Stored    Outcome = "stored"
	Repeated  Outcome = "repeated"  // the notification exists already
	Off       Outcome = "disabled"  // the laboratory has switched the type off
	Withdrawn Outcome = "withdrawn" // the notification was withdrawn before it arrived
)

// Outcomes returns all outcomes, for metrics.
func Outcomes() []Outcome { return []Outcome{Stored, Repeated, Off, Withdrawn} }

// Deps are the dependencies of the use case.
type Deps struct {
	Store    Store
	Messages Messages
	Names    notification.Names
	Clock    clock.Clock
	Observer Observer
	// PushOff is set if this installation sends no push messages, so that notices are in the inboxes only.
	PushOff bool
	// PushWaits reports whether push messages of a laboratory wait for the task queue's configuration or operator.
	PushWaits func(lab int64) bool
	// WakeRelay starts the delivery of the outbox at once.
	WakeRelay func()
	Signals   Signals
}

// Notifier stores notifications. Its methods may be called from several goroutines.
type Notifier struct{ d Deps }

// NewNotifier returns a use case with the dependencies d.
func NewNotifier(d Deps) *Notifier { return &Notifier{d} }

// Trigger is a request to notify.
type Trigger struct {
	Gateway        string
	TypeID         int64
	Context        []byte  // a JSON object
	IdempotencyKey *string // nil: repeats are recognized by type, subject, audience, kind and minute
}

// Result is the result of a trigger.
type Result struct {
	Outcome        Outcome
	NotificationID int64
	Topic          string
	Unreachable    notification.Unreachable
}

// request is a checked trigger.
type request struct {
	lab  authn.LabScope
	c    notification.Context // with its final addressees
	kind notification.Kind
	key  string // "": none
}

// Notify stores a notification for the addressees of the context, with its push messages. p must be a service.
func (n *Notifier) Notify(ctx context.Context, p authn.Principal, t Trigger) (Result, error) {
	r, err := n.read(ctx, p, t)
	if err != nil {
		return Result{}, err
	}
	if r.kind.Disabled {
		n.d.Observer.Notified(Off)
		return Result{Outcome: Off, Unreachable: notification.TypeOff}, nil
	}
	refs := notification.RefsOf(r.kind, r.c)
	if len(refs) == 0 {
		return Result{}, errNoAddressee
	}
	devices, err := n.subscribed(ctx, r.lab, r.kind, refs)
	if err != nil {
		return Result{}, err
	}
	result, err := n.store(ctx, r, refs, devices)
	if err != nil {
		return Result{}, err
	}
	n.d.Observer.Notified(result.Outcome)
	if result.Outcome != Withdrawn {
		result.Unreachable = n.unreachable(r.lab, r.kind, devices)
	}
	return result, nil
}

var errNoAddressee = apperr.InvalidField("laboratory",
	"laboratory is false and the context has no other addressee of this type; add org_id or doctor_id, or leave it out")

// read checks the trigger and reads its type.
func (n *Notifier) read(ctx context.Context, p authn.Principal, t Trigger) (r request, err error) {
	if t.Gateway != Gateway {
		return r, apperr.New(apperr.NotFound, "GATEWAY_NOT_FOUND", "There is no such gateway; use fcm")
	}
	if t.IdempotencyKey != nil {
		r.key = *t.IdempotencyKey
		if err := CheckKey(r.key); err != nil {
			return r, err
		}
	}
	if r.c, err = notification.ParseContext(t.Context); err != nil {
		return r, err
	}
	r.c = r.c.Addressed()
	if r.lab, err = p.Scope(r.c.LabID); err != nil {
		return r, err
	}
	r.kind, err = n.d.Store.Kind(ctx, r.lab, t.TypeID)
	return r, err
}

// store stores the notification with its push messages, or determines that its key was used or withdrawn.
func (n *Notifier) store(
	ctx context.Context, r request, refs []notification.Ref, devices Devices,
) (Result, error) {
	now, what := n.d.Clock.Now(), identityOf(r.kind.ID, r.c)
	record, pushes := n.compose(r, refs, devices.Topics)
	record.DedupeKey = what.dedupeKey(r.lab.LabID(), r.key, now)
	push := func(id int64) (outbox.Event, error) { return n.d.Messages.Push(r.lab, id, pushes) }
	if n.d.PushOff {
		push = nil
	}
	a, err := n.d.Store.Add(ctx, r.lab, record, push, now)
	if err != nil {
		return Result{}, err
	}
	result := Result{Outcome: a.Outcome, NotificationID: a.ID, Topic: record.Topic}
	switch a.Outcome {
	case Stored:
		n.d.WakeRelay()
		n.d.Signals.Changed(ctx, r.lab)
	case Withdrawn:
		result.Topic = ""
	case Repeated:
		result.Topic = a.First.Topic
		err = what.repeats(a.First)
	}
	return result, err
}

// compose returns the inbox entry and the push messages, one per name of each addressee's topic that devices need.
func (n *Notifier) compose(r request, refs []notification.Ref, devices [][]string) (New, []Push) {
	kind, c := r.kind, r.c
	title, body := kind.WordingFor(c)
	var pushes []Push
	for _, ref := range refs {
		for _, topic := range notification.Choose(n.d.Names.Known(r.lab, kind.ID, ref), devices) {
			pushes = append(pushes, Push{
				Topic: topic, For: ref.Kind, Title: title, Body: body, TypeID: kind.ID,
				ReportID: c.ReportID, BillID: c.BillID, Urgent: kind.ID == notification.CriticalReport,
			})
		}
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
		Topic: pushes[0].Topic,
	}, pushes
}

// Reach returns why notices of a type reach no device of the laboratory's users; "" if they do. p must be a service.
func (n *Notifier) Reach(
	ctx context.Context, p authn.Principal, labID, typeID int64,
) (notification.Unreachable, error) {
	if labID <= 0 {
		return "", apperr.InvalidField("lab_id", "lab_id must be a positive integer")
	}
	lab, err := p.Scope(labID)
	if err != nil {
		return "", err
	}
	kind, err := n.d.Store.Kind(ctx, lab, typeID)
	if err != nil {
		return "", err
	}
	devices, err := n.subscribed(ctx, lab, kind, []notification.Ref{{Kind: notification.RefLab, ID: labID}})
	return n.unreachable(lab, kind, devices), err
}

// subscribed returns the devices that are subscribed to a topic of the addressees.
func (n *Notifier) subscribed(
	ctx context.Context, lab authn.LabScope, kind notification.Kind, refs []notification.Ref,
) (Devices, error) {
	var topics []string
	for _, ref := range refs {
		topics = append(topics, n.d.Names.Known(lab, kind.ID, ref)...)
	}
	return n.d.Store.Subscribed(ctx, lab, topics)
}

func (n *Notifier) unreachable(
	lab authn.LabScope, kind notification.Kind, devices Devices,
) notification.Unreachable {
	return notification.Reach{
		TypeOff: kind.Disabled, PushOff: n.d.PushOff, Device: devices.Used, Waits: n.d.PushWaits(lab.LabID()),
	}.Unreachable()
}
