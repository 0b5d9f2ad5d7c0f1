package areas

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/labjson"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

// updatePreferences is the only path, beside the upload of files, whose documented body is form data. JSON is accepted
// too.
var updatePreferences = edge.Route{
	Method: http.MethodPost, Path: "/api-v3/notifications/notification-type/user-preferences",
	RPC: "/lab.notifications.v1.NotificationsService/UpdatePreferences",
}

// registerNotifications adds the contract's paths, and replaces two of them by the form and the script.
func registerNotifications(ctx context.Context, mux *edge.Mux, c grpc.ClientConnInterface) error {
	client := notificationsv1.NewNotificationsServiceClient(c)
	if err := notificationsv1.RegisterNotificationsServiceHandlerClient(ctx, mux.ServeMux, client); err != nil {
		return err
	}
	if err := handleServiceWorker(mux, client); err != nil {
		return err
	}
	return mux.HandleUpload(
		updatePreferences,
		func(ctx context.Context, r *http.Request, _ map[string]string, option grpc.CallOption) (proto.Message, error) {
			in, err := preferencesOf(r)
			if err != nil {
				return nil, err
			}
			return client.UpdatePreferences(ctx, in, option)
		},
	)
}

func preferencesOf(r *http.Request) (*notificationsv1.UpdatePreferencesRequest, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	var fields map[string]string
	switch kind {
	case "application/x-www-form-urlencoded":
		fields, err = urlencoded(r)
	case "multipart/form-data":
		fields, err = multipartFields(r)
	default:
		in := &notificationsv1.UpdatePreferencesRequest{}
		if err := (labjson.Codec{}).NewDecoder(r.Body).Decode(in); err != nil && !errors.Is(err, io.EOF) {
			return nil, invalid(edge.BodyError(err))
		}
		return in, nil // the service refuses an empty body and names the missing fields
	}
	if err != nil {
		return nil, err
	}
	in := &notificationsv1.UpdatePreferencesRequest{}
	if id, ok := fields["labUserId"]; ok {
		quoted, err := json.Marshal(id)
		if err != nil {
			return nil, badForm(err)
		}
		in.LabUserId = &typev1.RawJSON{Json: quoted}
	}
	if text, ok := fields["userNotificationPreferences"]; ok {
		in.UserNotificationPreferences = &text
	}
	return in, nil
}

func urlencoded(r *http.Request) (map[string]string, error) {
	if err := r.ParseForm(); err != nil {
		return nil, badForm(err)
	}
	fields := map[string]string{}
	for name := range r.PostForm {
		fields[name] = r.PostForm.Get(name)
	}
	return fields, nil
}

// multipartFields reads the parts into memory; the listener has limited the body to the size of JSON bodies.
func multipartFields(r *http.Request) (map[string]string, error) {
	form, err := r.MultipartReader()
	if err != nil {
		return nil, badForm(err)
	}
	fields := map[string]string{}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return fields, nil
		}
		if err != nil {
			return nil, badForm(err)
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return nil, badForm(err)
		}
		fields[part.FormName()] = string(value)
	}
}

// badForm returns the error for an unreadable form. A body that is too large keeps its error.
func badForm(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return err
	}
	return invalid(apperr.New(apperr.Invalid, "NOT_A_FORM",
		"send form data with labUserId and userNotificationPreferences, or the same names as JSON").WithCause(err))
}
