package app_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/fcmtest"
	"github.com/labplatform/labplatform/pkg/testkit/servicetest"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/notifications/internal/app"
)

const (
	asha = `{"session_type":"lab_user","lab_id":12,"lab_user_id":77,"username":"canaryname",` +
		`"full_name":"Canary Fullname"}`
	liya         = `{"session_type":"lab_user","lab_id":13,"lab_user_id":87}`
	organization = `{"session_type":"organization","lab_id":12,"org_id":45}`
)

func start(t *testing.T, settings ...string) (*servicetest.Running, notificationsv1.NotificationsServiceClient) {
	t.Helper()
	r := servicetest.Start(t, servicetest.Service[app.Config]{
		Name: app.Service.Name, Prefix: app.Service.Prefix, Load: app.Service.Load, Migrate: app.Service.Migrate, Serve: app.Service.Serve,
		Settings: append(settings, "NOTIFICATIONS_TASKQUEUE_ADDR=127.0.0.1:1", "NOTIFICATIONS_OUTBOX_POLL_INTERVAL=50ms"),
		Rows: []string{"INSERT INTO labUser (id, labId_id, username, isAdmin)" +
			" VALUES (77, 12, 'canaryname', 0), (87, 13, 'liya', 0)"},
	})
	return r, notificationsv1.NewNotificationsServiceClient(r.Conn)
}

// trigger is a context with data that callers should not send.
const trigger = `{"lab_id":12,"org_id":45,"lrr_id":7001,"title":"Canary title","body":"Canary body of Mrs Canary",` +
	`"patient_name":"Canary patient"}`

func notify(
	ctx context.Context, c notificationsv1.NotificationsServiceClient, text string,
) (*notificationsv1.NotifyResponse, error) {
	return c.Notify(ctx, &notificationsv1.NotifyRequest{
		Gateway: "fcm", NotificationTypeId: 2, Context: &typev1.RawJSON{Json: []byte(text)},
	})
}

const (
	ok              = codes.OK
	forbidden       = codes.PermissionDenied
	invalid         = codes.InvalidArgument
	absent          = codes.NotFound
	unauthenticated = codes.Unauthenticated
)

// operations returns the calls of a login, each with the callers that callers expects.
func operations(c notificationsv1.NotificationsServiceClient) map[string]servicetest.Operation {
	const all, withTopics, withoutTopics = "lab user, organization, other lab, support, collection centre",
		"lab user, organization, other lab", "support, collection centre"
	outside := func(m map[codes.Code]string) map[codes.Code]string {
		m[unauthenticated] = "no one"
		if m[forbidden] != "" {
			m[forbidden] += ", "
		}
		m[forbidden] += "callout"
		return m
	}
	return map[string]servicetest.Operation{
		"list": {Callers: outside(map[codes.Code]string{ok: all}), Call: func(ctx context.Context) error {
			_, err := c.ListNotifications(ctx, &notificationsv1.ListNotificationsRequest{})
			return err
		}},
		"read": {
			Callers: outside(map[codes.Code]string{
				ok: "lab user, organization", absent: "other lab, support, collection centre",
			}),
			Call: func(ctx context.Context) error {
				_, err := c.MarkNotification(ctx, &notificationsv1.MarkNotificationRequest{NotificationId: 1, Action: "read"})
				return err
			},
		},
		"activities": {Callers: outside(map[codes.Code]string{ok: all}), Call: func(ctx context.Context) error {
			_, err := c.ListActivities(ctx, &notificationsv1.ListActivitiesRequest{})
			return err
		}},
		"types": {Callers: outside(map[codes.Code]string{ok: all}), Call: func(ctx context.Context) error {
			_, err := c.ListTypes(ctx, &notificationsv1.ListTypesRequest{})
			return err
		}},
		"preferences": {
			Callers: outside(map[codes.Code]string{
				ok: "lab user", forbidden: "organization, other lab, support, collection centre",
			}),
			Call: func(ctx context.Context) error {
				_, err := c.UpdatePreferences(ctx, &notificationsv1.UpdatePreferencesRequest{
					LabUserId:                   &typev1.RawJSON{Json: []byte("77")},
					UserNotificationPreferences: proto.String(`[{"id":1,"is_disabled":1}]`),
				})
				return err
			},
		},
		"subscribe": {
			Callers: outside(map[codes.Code]string{ok: withTopics, forbidden: withoutTopics}),
			Call: func(ctx context.Context) error {
				_, err := c.SubscribeTopics(ctx, &notificationsv1.SubscribeTopicsRequest{
					Token: proto.String("Canary-token"), DeviceId: proto.String("Canary device"),
				})
				return err
			},
		},
		"subscribe an invalid token": {
			Callers: outside(map[codes.Code]string{invalid: withTopics, forbidden: withoutTopics}),
			Call: func(ctx context.Context) error {
				_, err := c.SubscribeTopics(ctx, &notificationsv1.SubscribeTopicsRequest{Token: proto.String("Canary token")})
				return err
			},
		},
		"unsubscribe": {Callers: outside(map[codes.Code]string{ok: all}), Call: func(ctx context.Context) error {
			_, err := c.UnsubscribeTopics(ctx, &notificationsv1.UnsubscribeTopicsRequest{Token: proto.String("Canary-token")})
			return err
		}},
	}
}

func callers(t *testing.T, r *servicetest.Running) map[string]context.Context {
	t.Helper()
	return map[string]context.Context{
		"lab user":     r.Session("asha", asha),
		"organization": r.Session("org", organization),
		"support":      r.Session("support", `{"session_type":"support","lab_id":12,"lab_user_id":77,"username":"support"}`),
		"collection centre": r.Session("centre",
			`{"session_type":"collection_center","lab_id":12,"cc_id":21,"username":"centre"}`),
		"other lab": r.Session("liya", liya),
		"callout":   r.As("callout"),
		"no one":    t.Context(),
	}
}

// notifyAsEach checks that only callout may send a trigger, and that a repetition changes nothing.
func notifyAsEach(t *testing.T, r *servicetest.Running, client notificationsv1.NotificationsServiceClient) {
	t.Helper()
	for range 2 {
		got, err := notify(r.As("callout"), client, trigger)
		if err != nil || !got.GetSuccess() || got.GetNotificationId() != 1 {
			t.Fatalf("trigger: %v, %v; want notification 1", got, err)
		}
	}
	for name, c := range map[string]struct {
		ctx  context.Context
		want codes.Code
	}{
		"a browser": {r.Session("asha", asha), forbidden},
		"no one":    {t.Context(), unauthenticated},
		"rerun":     {r.As("rerun"), forbidden},
	} {
		if _, err := notify(c.ctx, client, trigger); status.Code(err) != c.want {
			t.Errorf("trigger as %s: %v, want %v", name, err, c.want)
		}
	}
	withdrawAsEach(t, r, client)
	_, err := notify(r.As("callout"), client, `{"lab_id":12,"lrr_id":"Canary"}`)
	if status.Code(err) != invalid || strings.Contains(err.Error(), "Canary") {
		t.Errorf("an invalid context: %v, want it refused without its content", err)
	}
}

// withdrawAsEach checks that only callout may withdraw notices and query their reach. The key of a withdrawal contains
// a canary, because it may name a report.
func withdrawAsEach(t *testing.T, r *servicetest.Running, client notificationsv1.NotificationsServiceClient) {
	t.Helper()
	withdraw := func(ctx context.Context, key, reason string) (*notificationsv1.WithdrawNoticeResponse, error) {
		return client.WithdrawNotice(ctx, &notificationsv1.WithdrawNoticeRequest{LabId: 12, IdempotencyKey: key, Reason: reason})
	}
	reach := func(ctx context.Context) (*notificationsv1.GetReachResponse, error) {
		return client.GetReach(ctx, &notificationsv1.GetReachRequest{LabId: 12, NotificationTypeId: 2})
	}
	if got, err := withdraw(r.As("callout"), "Canary key", "wrong"); err != nil || got.GetFound() || got.GetWasRead() {
		t.Errorf("withdrawal of an unknown key: %v, %v; want it not found", got, err)
	}
	if _, err := withdraw(r.As("callout"), "Canary key", "Canary reason"); status.Code(err) != invalid ||
		strings.Contains(err.Error(), "Canary") {
		t.Errorf("an unknown reason: %v, want it refused without its content", err)
	}
	if got, err := reach(r.As("callout")); err != nil || got.GetUnreachable() != "no_device" {
		t.Errorf("reach without a device: %v, %v; want no_device", got, err)
	}
	for name, c := range map[string]struct {
		ctx  context.Context
		want codes.Code
	}{
		"a browser": {r.Session("asha", asha), forbidden},
		"no one":    {t.Context(), unauthenticated},
		"rerun":     {r.As("rerun"), forbidden},
		"core":      {r.As("core"), forbidden},
	} {
		_, withdrawn := withdraw(c.ctx, "k", "wrong")
		_, reached := reach(c.ctx)
		if status.Code(withdrawn) != c.want || status.Code(reached) != c.want {
			t.Errorf("as %s: %v, %v; want %v", name, withdrawn, reached, c.want)
		}
	}
}

// TestAccessAndPatientData makes every call as every caller. It checks the results, and that logs, traces and metrics
// contain no patient data.
func TestAccessAndPatientData(t *testing.T) {
	t.Parallel()
	r, client := start(t)
	notifyAsEach(t, r, client)
	servicetest.Access(t, callers(t, r), operations(client), "Canary")
	list, err := client.ListNotifications(r.Session("asha", asha), &notificationsv1.ListNotificationsRequest{})
	if err != nil || len(list.GetData()) != 1 || list.GetData()[0].GetMessage().GetTitle() != "Canary title" {
		t.Errorf("list: %v, %v; want one with the title of its trigger", list, err)
	}
	await.True(t, "delivery of the resubscription", func() bool {
		return strings.Contains(r.Get("/metrics"), `outbox_delivered_total{kind="devices.resubscribe"} 1`)
	})
	// The server ends a stream shortly after its caller has cancelled it.
	await.True(t, "the end of all event streams", func() bool {
		return strings.Contains(r.Get("/metrics"), "notifications_event_streams 0")
	})
	metrics := r.Get("/metrics")
	for _, series := range []string{
		`notifications_triggers_total{outcome="stored"} 1`, `notifications_triggers_total{outcome="repeated"} 1`,
		`notifications_triggers_total{outcome="disabled"} 0`, `notifications_marked_total{action="read"} 2`,
		`notifications_idle_devices_total{outcome="forgotten"} 0`, `notifications_withdrawals_total{reason="wrong"} 1`,
		`notifications_withdrawals_total{reason="partly_wrong"} 0`,
		`notifications_pushes_stopped_total{reason="withdrawn"} 0`,
	} {
		if !strings.Contains(metrics, series) {
			t.Errorf("%s is missing in the metrics", series)
		}
	}
	r.KeepsSecret("Canary", "canaryname")
}

// TestPushesThatAreOffAreNoFailure starts an installation without push messages. Operators can see that, and an attempt
// to subscribe a device does not count as a failure of the service.
func TestPushesThatAreOffAreNoFailure(t *testing.T) {
	t.Parallel()
	r, client := start(t, "NOTIFICATIONS_PUSH_PROVIDER=off")
	_, err := client.SubscribeTopics(r.Session("asha", asha), &notificationsv1.SubscribeTopicsRequest{Token: proto.String("token")})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("subscription: %v, want Unimplemented, which is 501", err)
	}
	if got := r.Get("/health"); !strings.Contains(got, "PUSH_PROVIDER is off") {
		t.Errorf("/health = %s, want that pushes are off", got)
	}
	if got := r.Get("/metrics"); !strings.Contains(got, `notifications_push_unserved{reason="off"} 1`) {
		t.Error("notifications_push_unserved of reason off is not 1")
	}
	log := r.Log()
	if strings.Contains(log, `"level":"ERROR"`) || strings.Count(log, "PUSH_PROVIDER is off") != 1 || strings.Count(log, "PUSH_OFF") != 1 {
		t.Errorf("log = %s, want one line for the state, one for the subscription, and no error", log)
	}
}

func TestInvalidSettingsAreAllNamed(t *testing.T) {
	t.Parallel()
	const token = "NOTIFICATIONS_SERVICE_TOKEN_SECRET=ssssssssssssssssssssssssssssssss"
	_, err := app.Service.Load([]string{
		token, "NOTIFICATIONS_TASKQUEUE_ADDR=", "NOTIFICATIONS_DEPLOYMENT_ZONE=a/b", "NOTIFICATIONS_EVENT_STREAM_SECONDS=0",
		"NOTIFICATIONS_PUSH_PROVIDER=apns", "NOTIFICATIONS_SWEEP_IDLE_DAYS=1",
	})
	if err == nil {
		t.Fatal("invalid settings are accepted, want an error")
	}
	for _, name := range []string{"DEPLOYMENT_ZONE", "EVENT_STREAM_SECONDS", "PUSH_PROVIDER", "SWEEP_IDLE_DAYS"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in: %v", name, err)
		}
	}
	_, err = app.Service.Load([]string{
		token, "NOTIFICATIONS_PUSH_PROVIDER=fcm", `NOTIFICATIONS_FCM_CREDENTIALS={"private_key":"Canary"}`,
	})
	if err == nil || !strings.Contains(err.Error(), "FCM_CREDENTIALS") || strings.Contains(err.Error(), "Canary") {
		t.Errorf("an invalid key: %v, want FCM_CREDENTIALS named without the key", err)
	}
	key := fcmtest.Start(t).KeyFile().Reveal()
	cfg, err := app.Service.Load([]string{token, "NOTIFICATIONS_PUSH_PROVIDER=fcm", "NOTIFICATIONS_FCM_CREDENTIALS=" + key})
	if err != nil || cfg.FCMCredentials.String() != "***" {
		t.Errorf("a valid key: %v, want it accepted and masked", err)
	}
}
