package fcm

import (
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/netguard"
)

const (
	scope        = "https://www.googleapis.com/auth/firebase.messaging"
	grantType    = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	assertionAge = time.Hour
	tokenTimeout = 10 * time.Second
)

// Account is the part of a service account's key file that is used.
type Account struct {
	Project  string
	keyID    string
	email    string
	audience string // the token endpoint as the key file spells it
	endpoint *url.URL
	key      *rsa.PrivateKey
}

// ReadAccount reads the JSON key file of a service account.
func ReadAccount(secret config.Secret) (*Account, error) {
	var file struct {
		Type       string `json:"type"`
		Project    string `json:"project_id"`
		KeyID      string `json:"private_key_id"`
		PrivateKey string `json:"private_key"`
		Email      string `json:"client_email"`
		TokenURI   string `json:"token_uri"`
	}
	if err := json.Unmarshal([]byte(secret.Reveal()), &file); err != nil {
		return nil, errors.New("the secret is not the JSON key file of a service account")
	}
	if file.Type != "service_account" || file.PrivateKey == "" || file.Email == "" {
		return nil, errors.New("the secret is not the key of a service account")
	}
	endpoint, err := parseAddress(file.TokenURI)
	if err != nil {
		return nil, fmt.Errorf("token_uri: %w", err)
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(file.PrivateKey))
	if err != nil {
		return nil, errors.New("the service account's private key cannot be read")
	}
	return &Account{
		Project:  file.Project,
		keyID:    file.KeyID,
		email:    file.Email,
		audience: file.TokenURI,
		endpoint: endpoint,
		key:      key,
	}, nil
}

// tokenRequest makes the signed assertion that is exchanged for an access token.
func (a *Account) tokenRequest(now time.Time) (netguard.Request, error) {
	claims := jwt.MapClaims{
		"iss":   a.email,
		"scope": scope,
		"aud":   a.audience,
		"iat":   now.Unix(),
		"exp":   now.Add(assertionAge).Unix(),
	}
	unsigned := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	unsigned.Header["kid"] = a.keyID
	assertion, err := unsigned.SignedString(a.key)
	if err != nil {
		return netguard.Request{}, fmt.Errorf("sign the assertion: %w", err)
	}
	form := url.Values{"grant_type": {grantType}, "assertion": {assertion}}
	return netguard.Request{
		Method:  http.MethodPost,
		URL:     a.endpoint,
		Header:  http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
		Body:    []byte(form.Encode()),
		Timeout: tokenTimeout,
	}, nil
}
