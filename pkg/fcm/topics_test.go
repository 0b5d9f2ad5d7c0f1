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

func TestTokensJoinAndLeaveATopic(t *testing.T) {
	t.Parallel()
	s := fcmtest.Start(t)
	topics := topicsOf(t, s)
	tokens := make([]string, fcm.MaxTokens)
	for i := range tokens {
		tokens[i] = fmt.Sprint("token-", i)
		s.Fate(tokens[i], "INVALID_ARGUMENT") // the longest answer
	}
	s.Fate("token-0", "")
	for range 2 { // twice is once
		fates, err := topics.Add(t.Context(), "news", tokens)
		if err != nil || len(fates) != len(tokens) || fates[0] != nil || fates[999] == nil || fates[999].Class != fcm.DeadToken {
			t.Fatalf("%d fates, %v", len(fates), err)
		}
	}
	if got := s.Topics("token-0"); !slices.Equal(got, []string{"news"}) {
		t.Fatal(got)
	}
	if _, err := topics.Remove(t.Context(), "news", tokens[:1]); err != nil || len(s.Topics("token-0")) != 0 || s.Grants() != 1 {
		t.Fatal(err, s.Topics("token-0"), s.Grants())
	}
	for _, bad := range [][]string{nil, append(tokens, "one more")} {
		if _, err := topics.Add(t.Context(), "news", bad); err == nil {
			t.Errorf("%d tokens were accepted", len(bad))
		}
	}
}

func TestTheFatesOfTokensHaveTheirClass(t *testing.T) {
	t.Parallel()
	s := fcmtest.Start(t)
	topics := topicsOf(t, s)
	for code, want := range map[string]fcm.Class{
		"NOT_FOUND": fcm.DeadToken, "UNREGISTERED": fcm.DeadToken, "INVALID_ARGUMENT": fcm.DeadToken, "TOO_MANY_TOPICS": fcm.Refused,
		"PERMISSION_DENIED": fcm.Refused, "RESOURCE_EXHAUSTED": fcm.RateLimited, "INTERNAL": fcm.Passing, "token-of Asha": fcm.Passing,
	} {
		s.Fate("T", code)
		fates, err := topics.Add(t.Context(), "news", []string{"T"})
		if err != nil || fates[0] == nil || fates[0].Class != want || strings.Contains(fates[0].Error(), "Asha") {
			t.Errorf("%s: %v, %v", code, fates, err)
		}
	}
}

func TestAnswersAboutAllTokensHaveTheirClass(t *testing.T) {
	t.Parallel()
	s := fcmtest.Start(t)
	topics := topicsOf(t, s)
	for _, c := range []struct {
		answer fcmtest.Answer
		want   fcm.Class
		wait   time.Duration
	}{
		{fcmtest.Answer{Status: 429, RetryAfter: "30"}, fcm.RateLimited, 30 * time.Second},
		{fcmtest.Answer{Status: 503}, fcm.Passing, 0},
		{fcmtest.Answer{Status: 200, Body: "<html>"}, fcm.Passing, 0},
		{fcmtest.Answer{Status: 200, Body: `{"results":[{},{}]}`}, fcm.Passing, 0},
		{fcmtest.Answer{Status: 400, Body: `{"error":"InvalidTopicName"}`}, fcm.Refused, 0},
		{fcmtest.Answer{Status: 403}, fcm.Configuration, 0},
	} {
		s.Next(c.answer)
		_, err := topics.Add(t.Context(), "news", []string{"T"})
		var said *fcm.Error
		if !errors.As(err, &said) || said.Class != c.want || said.RetryAfter != c.wait {
			t.Errorf("%+v: %v", c.answer, err)
		}
	}
	s.Expire()
	var said *fcm.Error
	if _, err := topics.Add(t.Context(), "news", []string{"T"}); !errors.As(err, &said) || said.Class != fcm.Passing {
		t.Errorf("an access token that ended early: %v", err)
	}
	if _, err := topics.Add(t.Context(), "news", []string{"T"}); err != nil {
		t.Errorf("with a new access token: %v", err)
	}
}

func TestARefusedAccountIsAMatterOfConfiguration(t *testing.T) {
	t.Parallel()
	s := fcmtest.Start(t)
	s.Refuse()
	_, err := topicsOf(t, s).Add(t.Context(), "news", []string{"T"})
	var said *fcm.Error
	if !errors.As(err, &said) || said.Class != fcm.Configuration {
		t.Error(err)
	}
}

func TestAKeyThatIsNoServiceAccountsIsRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []config.Secret{"", "x", `{"type":"authorized_user"}`,
		`{"type":"service_account","private_key":"x","client_email":"a","token_uri":"https://x.test/"}`,
		`{"type":"service_account","private_key":"x","client_email":"a","token_uri":"file:///etc/passwd"}`} {
		if _, err := fcm.ReadAccount(bad); err == nil || strings.Contains(err.Error(), "private_key") {
			t.Errorf("%q: %v", bad.Reveal(), err)
		}
	}
}
