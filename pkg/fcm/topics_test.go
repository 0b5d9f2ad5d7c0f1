package fcm_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/fcm"
	"github.com/labplatform/labplatform/pkg/testkit/fcmtest"
)

func topicsOf(t *testing.T, s *fcmtest.Server) *fcm.Topics {
	t.Helper()
	key := s.KeyFile()
	client := s.Client()
	access := fcm.NewAccess(client, clock.System{}, func() (*fcm.Account, error) { return fcm.ReadAccount(key) })
	topics, err := fcm.NewTopics(s.URL, client, access, clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	return topics
}

func TestSubscribeAndUnsubscribe(t *testing.T) {
	t.Parallel()
	s := fcmtest.Start(t)
	topics := topicsOf(t, s)
	tokens := make([]string, fcm.MaxTokens)
	for i := range tokens {
		tokens[i] = fmt.Sprint("token-", i)
		s.SetError(tokens[i], "INVALID_ARGUMENT") // results with an error make the longest response
	}
	s.SetError("token-0", "")
	for range 2 { // a repetition has no effect
		results, err := topics.Add(t.Context(), "news", tokens)
		if err != nil || len(results) != len(tokens) || results[0] != nil || results[999] == nil || results[999].Class != fcm.DeadToken {
			t.Fatalf("Add = %d results, error %v, want one per token: nil first, DeadToken last", len(results), err)
		}
	}
	if got := s.Topics("token-0"); !slices.Equal(got, []string{"news"}) {
		t.Fatalf("topics of token-0 = %v, want news", got)
	}
	if _, err := topics.Remove(t.Context(), "news", tokens[:1]); err != nil || len(s.Topics("token-0")) != 0 || s.Grants() != 1 {
		t.Fatalf("Remove: %v; topics of token-0 = %v, want none; grants = %d, want 1", err, s.Topics("token-0"), s.Grants())
	}
	for _, bad := range [][]string{nil, append(tokens, "one more")} {
		if _, err := topics.Add(t.Context(), "news", bad); err == nil {
			t.Errorf("%d tokens accepted, want an error", len(bad))
		}
	}
}

func TestTokenErrorsAreClassified(t *testing.T) {
	t.Parallel()
	s := fcmtest.Start(t)
	topics := topicsOf(t, s)
	for code, want := range map[string]fcm.Class{
		"NOT_FOUND": fcm.DeadToken, "UNREGISTERED": fcm.DeadToken, "INVALID_ARGUMENT": fcm.DeadToken, "TOO_MANY_TOPICS": fcm.Refused,
		"PERMISSION_DENIED": fcm.Refused, "RESOURCE_EXHAUSTED": fcm.RateLimited, "INTERNAL": fcm.Temporary, "token-of Asha": fcm.Temporary,
	} {
		s.SetError("T", code)
		results, err := topics.Add(t.Context(), "news", []string{"T"})
		if err != nil || results[0] == nil || results[0].Class != want || strings.Contains(results[0].Error(), "Asha") {
			t.Errorf("%s: results = %v, error %v, want class %v without the code's text", code, results, err, want)
		}
	}
}

func TestErrorResponsesAreClassified(t *testing.T) {
	t.Parallel()
	s := fcmtest.Start(t)
	topics := topicsOf(t, s)
	for _, c := range []struct {
		answer fcmtest.Response
		want   fcm.Class
		wait   time.Duration
	}{
		{fcmtest.Response{Status: 429, RetryAfter: "30"}, fcm.RateLimited, 30 * time.Second},
		{fcmtest.Response{Status: 503}, fcm.Temporary, 0},
		{fcmtest.Response{Status: 200, Body: "<html>"}, fcm.Temporary, 0},
		{fcmtest.Response{Status: 200, Body: `{"results":[{},{}]}`}, fcm.Temporary, 0},
		{fcmtest.Response{Status: 400, Body: `{"error":"InvalidTopicName"}`}, fcm.Refused, 0},
		{fcmtest.Response{Status: 403}, fcm.Configuration, 0},
	} {
		s.Next(c.answer)
		_, err := topics.Add(t.Context(), "news", []string{"T"})
		var got *fcm.Error
		if !errors.As(err, &got) || got.Class != c.want || got.RetryAfter != c.wait {
			t.Errorf("%+v: error = %v, want class %v, retry after %v", c.answer, err, c.want, c.wait)
		}
	}
	s.Expire()
	var got *fcm.Error
	if _, err := topics.Add(t.Context(), "news", []string{"T"}); !errors.As(err, &got) || got.Class != fcm.Temporary {
		t.Errorf("expired access token: error = %v, want Temporary", err)
	}
	if _, err := topics.Add(t.Context(), "news", []string{"T"}); err != nil {
		t.Errorf("call with a new access token: %v", err)
	}
}

func TestRefusedAccountIsAConfigurationError(t *testing.T) {
	t.Parallel()
	s := fcmtest.Start(t)
	s.Refuse()
	_, err := topicsOf(t, s).Add(t.Context(), "news", []string{"T"})
	var got *fcm.Error
	if !errors.As(err, &got) || got.Class != fcm.Configuration {
		t.Errorf("error = %v, want class Configuration", err)
	}
}

func TestInvalidKeyFileIsRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []config.Secret{"", "x", `{"type":"authorized_user"}`,
		`{"type":"service_account","private_key":"x","client_email":"a","token_uri":"https://x.test/"}`,
		`{"type":"service_account","private_key":"x","client_email":"a","token_uri":"file:///etc/passwd"}`} {
		if _, err := fcm.ReadAccount(bad); err == nil || strings.Contains(err.Error(), "private_key") {
			t.Errorf("ReadAccount(%q) = %v, want an error without the key", bad.Reveal(), err)
		}
	}
}
