package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

const (
	scope        = "https://www.googleapis.com/auth/firebase.messaging"
	grantType    = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	assertionAge = time.Hour
	renewBefore  = time.Minute
	tokenTimeout = 10 * time.Second
)

// account is the part of a service account's key file that is used.
type account struct {
	Type       string `json:"type"`
	Project    string `json:"project_id"`
	KeyID      string `json:"private_key_id"`
	PrivateKey string `json:"private_key"`
	Email      string `json:"client_email"`
	TokenURI   string `json:"token_uri"`
}

func readAccount(secret config.Secret) (*account, error) {
	var a account
	if err := json.Unmarshal([]byte(secret.Reveal()), &a); err != nil {
		return nil, errors.New("the secret is not the JSON key file of a service account")
	}
	if a.Type != "service_account" || a.PrivateKey == "" || a.Email == "" {
		return nil, errors.New("the secret is not the key of a service account")
	}
	if _, err := provider.ParseBase(a.TokenURI); err != nil {
		return nil, fmt.Errorf("token_uri: %w", err)
	}
	if _, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(a.PrivateKey)); err != nil {
		return nil, errors.New("the service account's private key cannot be read")
	}
	return &a, nil
}

// access keeps the access token of a service account and renews it a minute before its end.
type access struct {
	client provider.Client
	clock  clock.Clock
	read   func() (*account, error)

	mu    sync.Mutex // guards the token; held while it is fetched, so that one request serves all
	token string
	until time.Time
}

// get returns a token that is valid for a minute at least.
func (a *access) get(ctx context.Context) (string, error) {
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

// drop forgets a token that FCM did not accept.
func (a *access) drop(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.token == token {
		a.token = ""
	}
}

func (a *access) fetch(ctx context.Context, now time.Time) (token string, life time.Duration, err error) {
	q, err := a.request(now)
	if err != nil {
		return "", 0, provider.FailOver("secret", "The push provider's key cannot be read or used")
	}
	answer, err := provider.Exchange(ctx, a.client, q, false)
	if err != nil {
		return "", 0, err //nolint:wrapcheck // classified
	}
	var granted struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int    `json:"expires_in"`
		Error       string `json:"error"`
	}
	readable := json.Unmarshal(answer.Body, &granted) == nil
	switch {
	case answer.Status == http.StatusBadRequest, answer.Status == http.StatusUnauthorized: // invalid_grant, invalid_client
		return "", 0, provider.FailOver("credentials", "The push provider does not accept the service account")
	case answer.Status != http.StatusOK:
		return "", 0, provider.Status(answer.Status, answer.Header, now, false, "access token")
	case !readable || granted.AccessToken == "":
		return "", 0, job.Retryable("access_token", "The push provider gave no access token")
	}
	return granted.AccessToken, time.Duration(granted.ExpiresIn) * time.Second, nil
}

// request makes the signed assertion that is exchanged for a token.
func (a *access) request(now time.Time) (netguard.Request, error) {
	key, err := a.read()
	if err != nil {
		return netguard.Request{}, err
	}
	u, err := provider.ParseBase(key.TokenURI)
	if err != nil {
		return netguard.Request{}, fmt.Errorf("token_uri: %w", err)
	}
	private, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(key.PrivateKey))
	if err != nil {
		return netguard.Request{}, fmt.Errorf("private key: %w", err)
	}
	claims := jwt.MapClaims{"iss": key.Email, "scope": scope, "aud": key.TokenURI, "iat": now.Unix(), "exp": now.Add(assertionAge).Unix()}
	unsigned := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	unsigned.Header["kid"] = key.KeyID
	assertion, err := unsigned.SignedString(private)
	if err != nil {
		return netguard.Request{}, fmt.Errorf("sign the assertion: %w", err)
	}
	form := url.Values{"grant_type": {grantType}, "assertion": {assertion}}
	return netguard.Request{Method: http.MethodPost, URL: u, Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
		Body: []byte(form.Encode()), Timeout: tokenTimeout}, nil
}
