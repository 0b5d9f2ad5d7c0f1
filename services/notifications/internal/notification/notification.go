package notification

import (
	"encoding/json"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// Message is the displayed part of a notification. Data is a JSON object.
type Message struct {
	Title string          `json:"title"`
	Body  string          `json:"body"`
	Data  json.RawMessage `json:"data"`
}

// Notification is an entry of the inbox as one viewer sees it.
type Notification struct {
	ID        int64
	TypeID    int64
	Message   Message
	CreatedAt int64  // epoch seconds
	ReadOn    *int64 // epoch seconds; nil if unread by the viewer
}

// Action is what a user does with a notification.
type Action string

// Documented actions of a user.
const (
	Read   Action = "read"
	Unread Action = "unread"
)

// ParseAction returns the action with that name, or an error.
func ParseAction(text string) (Action, error) {
	switch a := Action(text); a {
	case Read, Unread:
		return a, nil
	}
	return "", apperr.InvalidField("action", "action must be read or unread")
}

// Apply returns when a login has read a notification after the action, nil for unread. changed reports whether the
// action changes anything. A notification that is read again keeps its first time.
func (a Action) Apply(readOn *int64, now time.Time) (after *int64, changed bool) {
	switch {
	case (readOn != nil) == (a == Read):
		return readOn, false
	case a == Read:
		return new(now.Unix()), true
	}
	return nil, true
}

// Activity is one recorded action on a notification.
type Activity struct {
	ID             int64
	NotificationID int64
	Activity       string // read, unread, delivered or clicked
	UserID         int64
	UserName       string
	Username       string
	At             int64 // epoch seconds
}

// Errors about notifications.
var (
	ErrNotFound = apperr.New(apperr.NotFound, "NOTIFICATION_NOT_FOUND", "There is no such notification for this login")
	ErrNoType   = apperr.New(
		apperr.NotFound,
		"TYPE_NOT_FOUND",
		"There is no such notification type; GET notification-type/all lists them",
	)
	// ErrTypeInactive is temporary: operators switch types of the installation off and on, and notices wait until the type
	// is on.
	ErrTypeInactive = apperr.New(apperr.Unavailable, "TYPE_INACTIVE",
		"This installation has the notification type switched off; ask its operator to set NotificationTypesMaster.is_active")
)
