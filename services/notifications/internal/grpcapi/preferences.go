package grpcapi

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// UpdateTypes turns notification types on or off for the laboratory.
func (s *Server) UpdateTypes(
	ctx context.Context,
	in *notificationsv1.UpdateTypesRequest,
) (*notificationsv1.UpdateTypesResponse, error) {
	p := authn.FromContext(ctx)
	lab, err := p.Scope(0)
	if err != nil {
		return nil, err
	}
	if err := s.d.Preferences.MaySwitch(ctx, p); err != nil {
		return nil, err
	}
	switches, err := switchesOf(in.GetNotificationTypes())
	if err != nil {
		return nil, err
	}
	userID, _ := p.Actor().LabUserID()
	if err := s.d.Preferences.SetKinds(ctx, lab, switches, userID); err != nil {
		return nil, err
	}
	kinds, err := s.d.Preferences.Kinds(ctx, lab)
	if err != nil {
		return nil, err
	}
	return &notificationsv1.UpdateTypesResponse{
		Success: true, Message: "Notification types updated successfully",
		NotificationTypes: switched(in.GetNotificationTypes(), kinds),
	}, nil
}

// switched returns the requested types with their switches after the change. A mandatory type stays on.
func switched(asked []*notificationsv1.TypeSwitch, kinds []notification.Kind) []*notificationsv1.TypeSwitch {
	out := make([]*notificationsv1.TypeSwitch, len(asked))
	for i, one := range asked {
		disabled := slices.ContainsFunc(kinds, func(k notification.Kind) bool { return k.ID == one.GetId() && k.Disabled })
		out[i] = &notificationsv1.TypeSwitch{Id: one.Id, IsDisabled: &disabled}
	}
	return out
}

func switchesOf(in []*notificationsv1.TypeSwitch) ([]notification.Switch, error) {
	switches := make([]notification.Switch, len(in))
	for i, one := range in {
		switch {
		case one == nil || one.Id == nil || one.GetId() <= 0:
			return nil, apperr.InvalidFields(apperr.Field{Index: i, Name: "id", Message: "id must be a positive integer"})
		case one.IsDisabled == nil:
			return nil, apperr.InvalidFields(
				apperr.Field{Index: i, Name: "is_disabled", Message: "is_disabled must be true or false"},
			)
		}
		switches[i] = notification.Switch{TypeID: one.GetId(), Disabled: one.GetIsDisabled()}
	}
	return switches, nil
}

// GetPreferences returns a user's preferences.
func (s *Server) GetPreferences(
	ctx context.Context,
	in *notificationsv1.GetPreferencesRequest,
) (*notificationsv1.GetPreferencesResponse, error) {
	list, err := s.d.Preferences.Of(ctx, authn.FromContext(ctx), in.GetLabUserId())
	if err != nil {
		return nil, err
	}
	return &notificationsv1.GetPreferencesResponse{Total: int64(len(list)), UserPreferences: preferencesOf(list)}, nil
}

// UpdatePreferences stores a user's preferences.
func (s *Server) UpdatePreferences(
	ctx context.Context, in *notificationsv1.UpdatePreferencesRequest,
) (*notificationsv1.UpdatePreferencesResponse, error) {
	id, err := strconv.ParseInt(strings.Trim(strings.TrimSpace(string(in.GetLabUserId().GetJson())), `"`), 10, 64)
	if err != nil {
		return nil, apperr.InvalidField("labUserId", "labUserId must be a positive integer")
	}
	list, err := s.d.Preferences.Set(ctx, authn.FromContext(ctx), id, in.GetUserNotificationPreferences())
	if err != nil {
		return nil, err
	}
	return &notificationsv1.UpdatePreferencesResponse{
		Success: true, Message: "User notification preferences updated successfully", UserPreferences: preferencesOf(list),
	}, nil
}
