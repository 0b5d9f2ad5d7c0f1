package topics_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/fcm"
	"github.com/labplatform/labplatform/pkg/testkit/fcmtest"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
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

func open(t *testing.T, s *fcmtest.Server) (*device.Devices, *storetest.Database) {
	t.Helper()
	store := storetest.Open(t)
	return device.New(device.Deps{
		Reader: store, Writer: store, Topics: provider(t, s), Names: storetest.Names, Clock: store.Clock,
		Evictor: store, Observer: storetest.Uncounted{},
	}), store
}

func TestADeviceIsSubscribedAndForgotten(t *testing.T) {
	t.Parallel()
	s, asha := fcmtest.Start(t), storetest.User(t, 12, 77)
	devices, _ := open(t, s)
	out, err := devices.Subscribe(t.Context(), asha, device.Device{Token: "T"})
	if err != nil || len(out.Topics) != 4 || !slices.Equal(s.Topics("T"), out.Topics) || s.Grants() != 1 {
		t.Fatalf("%+v, %v, provider %v, %d access tokens; want 4 topics at both and one access token",
			out, err, s.Topics("T"), s.Grants())
	}
	if _, err := devices.Unsubscribe(t.Context(), asha, "T"); err != nil || len(s.Topics("T")) != 0 {
		t.Fatalf("unsubscribe: %v, the provider has %v; want nothing", err, s.Topics("T"))
	}
}

func TestATokenThatTheProviderDoesNotKnowIsForgotten(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"NOT_FOUND", "UNREGISTERED", "INVALID_ARGUMENT"} {
		s, asha := fcmtest.Start(t), storetest.User(t, 12, 77)
		devices, store := open(t, s)
		s.SetError("T", code)
		_, err := devices.Subscribe(t.Context(), asha, device.Device{Token: "T"})
		if !apperr.Is(err, apperr.Invalid) {
			t.Errorf("%s: %v, want it refused as invalid", code, err)
		}
		if _, found, err := store.Find(t.Context(), asha, "T"); err != nil || found {
			t.Errorf("%s: the token is found: %v, %v; want it deleted", code, found, err)
		}
	}
}

func TestOneFailedTopicIsReturnedAndOnlyFailedTopicsAreAnError(t *testing.T) {
	t.Parallel()
	s := fcmtest.Start(t)
	p := provider(t, s)
	s.Next(fcmtest.Response{Status: 429})
	failed, err := p.Subscribe(t.Context(), "T", []string{"a", "b", "c"})
	if err != nil || len(failed) != 1 || len(s.Topics("T")) != 2 {
		t.Fatalf("failed %v, %v, the provider has %v; want one failed and two subscribed", failed, err, s.Topics("T"))
	}
	s.Next(fcmtest.Response{Status: 500}, fcmtest.Response{Status: 503}, fcmtest.Response{Status: 500})
	if _, err := p.Subscribe(t.Context(), "T", []string{"a", "b", "c"}); err == nil || errors.Is(err, device.ErrUnknownToken) {
		t.Fatalf("three failures: %v, want an error that keeps the token", err)
	}
	s.Close()
	_, err = p.Unsubscribe(t.Context(), "secret-token", []string{"a"})
	if err == nil || strings.Contains(err.Error(), s.URL) || strings.Contains(err.Error(), "secret-token") {
		t.Fatalf("without a provider: %v, want an error without address and token", err)
	}
}
