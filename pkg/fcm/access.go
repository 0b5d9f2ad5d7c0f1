package fcm

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/netguard"
)

const renewBefore = time.Minute

// Access keeps the access token of a service account and renews it a minute before its end.
type Access struct {
	client Client
	clock  clock.Clock
	read   func() (*Account, error)

	mu    sync.Mutex // guards the token; held while it is fetched, so that one request serves all
	token string
	until time.Time
}

// NewAccess returns the access of the account that read returns. read is asked at every renewal, so that a rotated key
// works without a restart.
func NewAccess(client Client, c clock.Clock, read func() (*Account, error)) *Access {
	return &Access{client: client, clock: c, read: read}
}

// Token returns a token that is valid for a minute at least.
func (a *Access) Token(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock.Now()
	if a.token != "" && now.Add(renewBefore).Before(a.until) {
		return a.token, nil
	}
	token, life, err := a.fetch(ctx, now)
	if err != nil {
		return "", err
	}
	a.token, a.until = token, now.Add(life)
	return token, nil
}

// Drop forgets a token that was not accepted.
func (a *Access) Drop(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.token == token {
		a.token = ""
	}
}

func (a *Access) fetch(ctx context.Context, now time.Time) (token string, life time.Duration, err error) {
	q, err := a.request(now)
	if err != nil {
		return "", 0, &Error{
			Class:   Configuration,
			Reason:  "secret",
			Message: "The push provider's key cannot be read or used",
			cause:   err,
		}
	}
	answer, err := a.client.Do(ctx, q)
	if err != nil {
		return "", 0, err
	}
	var granted struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int    `json:"expires_in"`
	}
	readable := json.Unmarshal(answer.Body, &granted) == nil
	switch {
	case answer.Status == http.StatusBadRequest, answer.Status == http.StatusUnauthorized: // invalid_grant, invalid_client
		return "", 0, &Error{
			Class:   Configuration,
			Reason:  "credentials",
			Message: "The push provider does not accept the service account",
		}
	case answer.Status != http.StatusOK:
		return "", 0, ofStatus(answer, now, "The push provider's token endpoint")
	case !readable || granted.AccessToken == "":
		return "", 0, &Error{Class: Passing, Reason: "access_token", Message: "The push provider gave no access token"}
	}
	return granted.AccessToken, time.Duration(granted.ExpiresIn) * time.Second, nil
}

func (a *Access) request(now time.Time) (netguard.Request, error) {
	account, err := a.read()
	if err != nil {
		return netguard.Request{}, err
	}
	return account.tokenRequest(now)
}
