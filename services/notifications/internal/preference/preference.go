// Package preference reads and writes the switches of notification types: the laboratory's, and within them those of a
// login, which is a lab user or a login of an organization.
package preference

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// maxSwitches is the maximum number of switches per request.
const maxSwitches = 500

// Store keeps the switches.
type Store interface {
	// Kinds returns the active types, each with the laboratory's switch, in the order of the page.
	Kinds(ctx context.Context, lab authn.LabScope) ([]notification.Kind, error)
	// SetKinds stores the laboratory's switches, all of them or none.
	SetKinds(ctx context.Context, lab authn.LabScope, switches []notification.Switch, userID int64, now time.Time) error
	// User reports whether the laboratory has the user, and whether the user is its administrator.
	User(ctx context.Context, lab authn.LabScope, userID int64) (exists, admin bool, err error)
	// Preferences returns the active types that the laboratory has not switched off, each with the login's own switch,
	// in the order of the page.
	Preferences(ctx context.Context, v notification.Viewer) ([]notification.Preference, error)
	// SetPreferences stores the login's switches and the message that updates its devices, all of them or nothing.
	SetPreferences(
		ctx context.Context,
		v notification.Viewer,
		switches []notification.Switch,
		after outbox.Event,
		now time.Time,
	) error
}

// Messages creates the outbox message that subscribes a login's devices again.
type Messages interface {
	Resubscribe(v notification.Viewer) (outbox.Event, error)
}

// Preferences reads and writes switches. Its methods may be called from several goroutines.
type Preferences struct {
	store      Store
	messages   Messages
	clock      clock.Clock
	permission string
	wakeRelay  func()
}

// New returns a use case over store. permission is the permission with which lab users may turn notification
// types on or off for the laboratory. wakeRelay is called after a change that has a message in the outbox.
func New(store Store, m Messages, c clock.Clock, permission string, wakeRelay func()) *Preferences {
	return &Preferences{store, m, c, permission, wakeRelay}
}

// Kinds returns the active types with the laboratory's switch.
func (p *Preferences) Kinds(ctx context.Context, lab authn.LabScope) ([]notification.Kind, error) {
	return p.store.Kinds(ctx, lab)
}

// MaySwitch returns an error unless the caller is an administrator of the laboratory or has the permission.
func (p *Preferences) MaySwitch(ctx context.Context, caller authn.Principal) error {
	lab, err := caller.Scope(0)
	if err != nil || caller.IsGlobalAdmin {
		return err
	}
	if caller.SessionType != authn.LabUser {
		return errNotSwitched
	}
	if caller.Has(p.permission) {
		return nil
	}
	_, admin, err := p.store.User(ctx, lab, caller.LabUserID)
	if err == nil && !admin {
		err = errNotSwitched
	}
	return err
}

// SetKinds switches types on or off for the laboratory.
func (p *Preferences) SetKinds(
	ctx context.Context,
	lab authn.LabScope,
	switches []notification.Switch,
	userID int64,
) error {
	if err := p.check(ctx, lab, "notification_types", switches); err != nil {
		return err
	}
	return p.store.SetKinds(ctx, lab, switches, userID, p.clock.Now())
}

// check rejects empty lists, lists of more than maxSwitches elements, repeated types and unknown types.
func (p *Preferences) check(
	ctx context.Context, lab authn.LabScope, name string, switches []notification.Switch,
) error {
	if len(switches) == 0 || len(switches) > maxSwitches {
		return apperr.InvalidField(name, fmt.Sprintf("%s must have from 1 to %d elements", name, maxSwitches))
	}
	kinds, err := p.store.Kinds(ctx, lab)
	if err != nil {
		return err
	}
	return checkTypes(kinds, switches)
}

// checkTypes returns an error about the first type that is not among kinds or is repeated.
func checkTypes(kinds []notification.Kind, switches []notification.Switch) error {
	known, seen := map[int64]bool{}, map[int64]bool{}
	for _, k := range kinds {
		known[k.ID] = true
	}
	for i, s := range switches {
		switch {
		case !known[s.TypeID]:
			return invalidType(i, "there is no notification type %d", s.TypeID)
		case seen[s.TypeID]:
			return invalidType(i, "notification type %d is given twice", s.TypeID)
		}
		seen[s.TypeID] = true
	}
	return nil
}

func invalidType(index int, message string, typeID int64) error {
	return apperr.InvalidFields(apperr.Field{Index: index, Name: "id", Message: fmt.Sprintf(message, typeID)})
}

// Of returns the preferences of a lab user to that user and to administrators of the laboratory. A login of an
// organization passes the organization's id and gets its own preferences.
func (p *Preferences) Of(ctx context.Context, caller authn.Principal, id int64) ([]notification.Preference, error) {
	v, err := p.mayTouch(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	return p.store.Preferences(ctx, v)
}

// Set stores switches of preferences that Of returns, and returns all preferences. text is a JSON array of objects with
// id and is_disabled.
func (p *Preferences) Set(
	ctx context.Context,
	caller authn.Principal,
	id int64,
	text string,
) ([]notification.Preference, error) {
	v, err := p.mayTouch(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	switches, err := parse(text)
	if err != nil {
		return nil, err
	}
	if err := p.check(ctx, v.Lab, field, switches); err != nil {
		return nil, err
	}
	after, err := p.messages.Resubscribe(v)
	if err != nil {
		return nil, err
	}
	if err := p.store.SetPreferences(ctx, v, switches, after, p.clock.Now()); err != nil {
		return nil, err
	}
	p.wakeRelay()
	return p.store.Preferences(ctx, v)
}

// mayTouch returns the login whose switches the id selects for the caller. Ids of users, organizations and doctors
// overlap: for a login of an organization, the organization's id selects its own switches. Any other id is a lab
// user's.
func (p *Preferences) mayTouch(
	ctx context.Context, caller authn.Principal, id int64,
) (notification.Viewer, error) {
	if id <= 0 {
		return notification.Viewer{}, apperr.InvalidField("labUserId", "labUserId must be a positive integer")
	}
	if caller.SessionType == authn.Organization && caller.OrgID == id {
		return notification.ViewerOf(caller)
	}
	lab, err := p.mayTouchUser(ctx, caller, id)
	return notification.UserViewer(lab, id), err
}

func (p *Preferences) mayTouchUser(
	ctx context.Context, caller authn.Principal, userID int64,
) (authn.LabScope, error) {
	lab, err := caller.Scope(0)
	if err != nil {
		return lab, err
	}
	var f facts
	if _, f.callerAdmin, err = p.store.User(ctx, lab, caller.LabUserID); err != nil {
		return lab, err
	}
	if f.userExists, _, err = p.store.User(ctx, lab, userID); err != nil {
		return lab, err
	}
	return lab, f.admit(caller, userID)
}

const field = "userNotificationPreferences"

var errNotAList = apperr.InvalidField(field, field+` must be a JSON array like [{"id":2,"is_disabled":1}]`)

// parse parses the documented text, a JSON array.
func parse(text string) ([]notification.Switch, error) {
	var elements []struct {
		ID         json.RawMessage `json:"id"`
		IsDisabled json.RawMessage `json:"is_disabled"`
	}
	if err := json.Unmarshal([]byte(text), &elements); err != nil || elements == nil {
		return nil, errNotAList
	}
	switches := make([]notification.Switch, len(elements))
	for i, e := range elements {
		id, err := strconv.ParseInt(strings.Trim(string(e.ID), `"`), 10, 64)
		if err != nil || id <= 0 {
			return nil, apperr.InvalidFields(apperr.Field{Index: i, Name: "id", Message: "id must be a positive integer"})
		}
		disabled, ok := flag(e.IsDisabled)
		if !ok {
			return nil, apperr.InvalidFields(apperr.Field{Index: i, Name: "is_disabled", Message: "is_disabled must be 0 or 1"})
		}
		switches[i] = notification.Switch{TypeID: id, Disabled: disabled}
	}
	return switches, nil
}

func flag(raw json.RawMessage) (value, ok bool) {
	switch strings.ToLower(strings.Trim(string(raw), `"`)) {
	case "1", "true":
		return true, true
	case "0", "false":
		return false, true
	}
	return false, false
}
