package topics_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/fcm"
	"github.com/labplatform/labplatform/pkg/testkit/fcmtest"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/store/memory"
	"github.com/labplatform/labplatform/services/notifications/internal/topics"
)

func provider(t *testing.T, s *fcmtest.Server) *topics.Provider {
	t.Helper()
	key, client := s.KeyFile(), s.Client()
	access := fcm.NewAccess(client, clock.System{}, func() (*fcm.Account, error) { return fcm.ReadAccount(key) })
	managed, err := fcm.NewTopics(s.URL, client, access, clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	return topics.New(managed)
}

func asha(t *testing.T) notification.Viewer {
	t.Helper()
	v, err := notification.ViewerOf(authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 77})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestADeviceIsSubscribedAndForgotten(t *testing.T) {
	t.Parallel()
	s, store := fcmtest.Start(t), memory.New()
	devices := device.New(store, provider(t, s), "IN", clock.System{})
	out, err := devices.Subscribe(t.Context(), asha(t), device.Device{Token: "T"})
	if err != nil || len(out.Topics) != 4 || !slices.Equal(s.Topics("T"), out.Topics) || s.Grants() != 1 {
		t.Fatalf("%+v, %v, provider %v, %d access tokens", out, err, s.Topics("T"), s.Grants())
	}
	if _, err := devices.Unsubscribe(t.Context(), asha(t), "T"); err != nil || len(s.Topics("T")) != 0 {
		t.Fatal(err, s.Topics("T"))
	}
}

func TestATokenThatTheProviderDoesNotKnowIsForgotten(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"NOT_FOUND", "UNREGISTERED", "INVALID_ARGUMENT"} {
		s, store := fcmtest.Start(t), memory.New()
		devices := device.New(store, provider(t, s), "IN", clock.System{})
		s.SetError("T", code)
		_, err := devices.Subscribe(t.Context(), asha(t), device.Device{Token: "T"})
		if !apperr.Is(err, apperr.Invalid) {
			t.Errorf("%s: %v", code, err)
		}
		if _, found, err := store.Find(t.Context(), asha(t), "T"); err != nil || found {
			t.Errorf("%s: the token is kept: %v", code, err)
		}
	}
}

func TestOneTopicThatFailsIsToldAndAllThatFailAreAnError(t *testing.T) {
	t.Parallel()
	s := fcmtest.Start(t)
	p := provider(t, s)
	s.Next(fcmtest.Response{Status: 429})
	failed, err := p.Subscribe(t.Context(), "T", []string{"a", "b", "c"})
	if err != nil || len(failed) != 1 || len(s.Topics("T")) != 2 {
		t.Fatal(failed, err, s.Topics("T"))
	}
	s.Next(fcmtest.Response{Status: 500}, fcmtest.Response{Status: 503}, fcmtest.Response{Status: 500})
	if _, err := p.Subscribe(t.Context(), "T", []string{"a", "b", "c"}); err == nil || errors.Is(err, device.ErrUnknownToken) {
		t.Fatal(err)
	}
	s.Close()
	if _, err := p.Unsubscribe(t.Context(), "secret-token", []string{"a"}); err == nil || strings.Contains(err.Error(), s.URL) ||
		strings.Contains(err.Error(), "secret-token") {
		t.Fatal(err)
	}
}
