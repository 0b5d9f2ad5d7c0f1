package authcount_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"context"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/services/search/internal/authcount"
)

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// sessions is a fake session store with one session. It can simulate an outage.
type sessions struct{}

func (sessions) Session(_ context.Context, id string) ([]byte, error) {
	switch id {
	case "asha":
		return fmt.Appendf(nil, `{"session_type":"lab_user","lab_id":12,"lab_user_id":77,"created_at":%d}`, now.Unix()), nil
	case "down":
		return nil, errors.New("connection refused")
	}
	return nil, nil
}

func TestEveryCredentialIsCountedByWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	secret := config.Secret(strings.Repeat("s", 32))
	own := authn.NewAuthenticator(authn.Config{SessionCookieAgeSeconds: 28800, ServiceTokenSecret: secret}, sessions{}, "search", clock.Fixed(now))
	token, err := authn.NewServiceTokens(secret, "rerun", clock.Fixed(now)).Mint("search", "")
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	counted := authcount.New(own, registry)
	want := counts(t, registry)
	if len(want) != 7 {
		t.Fatalf("at the start: %v", want)
	}
	for _, step := range []struct {
		credentials authn.Credentials
		series      string
		kind        apperr.Kind
	}{
		{authn.Credentials{Cookie: "sessionid=asha"}, "session success", 0},
		{authn.Credentials{Cookie: "sessionid=asha"}, "session success", 0},
		{authn.Credentials{Cookie: "sessionid=stranger"}, "session failure", apperr.Unauthenticated},
		{authn.Credentials{Cookie: "sessionid=down"}, "session unavailable", apperr.Unavailable},
		{authn.Credentials{Authorization: "Bearer a.b.c", Cookie: "sessionid=asha"}, "token failure", apperr.Unauthenticated},
		{authn.Credentials{Authorization: "Bearer " + token, Cookie: "sessionid=down"}, "service success", 0},
		{authn.Credentials{}, "none failure", apperr.Unauthenticated},
		{authn.Credentials{Cookie: "theme=dark"}, "none failure", apperr.Unauthenticated},
	} {
		_, err := counted.Authenticate(t.Context(), step.credentials)
		if (err != nil) != (step.kind != 0) || (err != nil && !apperr.Is(err, step.kind)) {
			t.Fatalf("%s: %v", step.series, err)
		}
		want[step.series]++
		if diff := cmp.Diff(want, counts(t, registry)); diff != "" {
			t.Fatalf("%s: got %s, want none", step.series, diff)
		}
	}
}

func counts(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, m := range families[0].GetMetric() {
		all[m.GetLabel()[0].GetValue()+" "+m.GetLabel()[1].GetValue()] = m.GetCounter().GetValue()
	}
	return all
}
