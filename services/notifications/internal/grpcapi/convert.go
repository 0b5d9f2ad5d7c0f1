package grpcapi

import (
	"encoding/json"

	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

func listed(v notification.Viewer, list inbox.List) *notificationsv1.ListNotificationsResponse {
	out := &notificationsv1.ListNotificationsResponse{Message: "success", UnreadCount: list.Unread}
	for _, n := range list.Notifications {
		out.Data = append(out.Data, listedOne(v, n, list.Activities[n.ID]))
	}
	return out
}

func listedOne(
	v notification.Viewer,
	n notification.Notification,
	activities []notification.Activity,
) *notificationsv1.Notification {
	one := &notificationsv1.Notification{
		Id:                     n.ID,
		CreatedAt:              n.CreatedAt,
		ReadOn:                 n.ReadOn,
		NotificationActivities: activitiesOf(activities),
		Message: &notificationsv1.NotificationMessage{
			Title: n.Message.Title,
			Body:  n.Message.Body,
			Data:  object(n.Message.Data),
		},
	}
	if n.ReadOn != nil {
		one.ReadByUsername = &v.Username
	}
	return one
}

func stateOf(v notification.Viewer, m inbox.Marked) *notificationsv1.NotificationState {
	state := &notificationsv1.NotificationState{
		NotificationId: m.NotificationID, ReadOn: m.ReadOn, NotificationActivities: activitiesOf(m.Activities),
	}
	if m.ReadOn != nil {
		state.ReadBy, state.ReadByName, state.ReadByUsername = &v.ID, &v.Name, &v.Username
	}
	return state
}

func activitiesOf(list []notification.Activity) []*notificationsv1.NotificationActivity {
	out := make([]*notificationsv1.NotificationActivity, len(list))
	for i, a := range list {
		out[i] = &notificationsv1.NotificationActivity{
			Id: a.ID, NotificationId: a.NotificationID, Activity: a.Activity, UserId: a.UserID, UserName: a.UserName,
			Username: a.Username, ActivityAt: a.At,
		}
	}
	return out
}

func typesOf(kinds []notification.Kind) []*notificationsv1.NotificationType {
	out := make([]*notificationsv1.NotificationType, len(kinds))
	for i, k := range kinds {
		out[i] = &notificationsv1.NotificationType{
			Id: k.ID, Category: k.Category, Name: k.Name, Description: k.Description, UserCategory: k.UserCategory,
			DefaultMessageParams: object(k.DefaultParams), Order: int32(k.Order), IsDisabled: k.Disabled,
		}
	}
	return out
}

func preferencesOf(list []notification.Preference) []*notificationsv1.Preference {
	out := make([]*notificationsv1.Preference, len(list))
	for i, p := range list {
		out[i] = &notificationsv1.Preference{
			Id:          p.ID,
			Category:    p.Category,
			Name:        p.Name,
			Description: p.Description,
			IsDisabled:  p.Effective(),
			IsMandatory: p.Mandatory,
		}
	}
	return out
}

// object converts a JSON object. An invalid document gives an empty object.
func object(document json.RawMessage) *typev1.RawJSON {
	if !json.Valid(document) {
		document = json.RawMessage("{}")
	}
	return &typev1.RawJSON{Json: document}
}
