package authn

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
)

const (
	// ServiceTokenTTL is the lifetime of a service token. Tokens are minted per call and never stored.
	ServiceTokenTTL = 60 * time.Second

	serviceTokenType = "service+jwt"
	issuer           = "labplatform"
	leeway           = 5 * time.Second
)

// ServiceTokens mints and verifies the tokens with which services call each other. It is safe for concurrent
// use.
type ServiceTokens struct {
	keys  [][]byte
	name  string
	clock clock.Clock
}

// NewServiceTokens returns the minter and verifier of the service called name. With an empty secret Mint fails
// and Verify refuses every token.
func NewServiceTokens(secret config.Secret, name string, c clock.Clock) *ServiceTokens {
	return &ServiceTokens{keys: secret.Keys(), name: name, clock: c}
}

type actor struct {
	Subject string `json:"sub"`
}

type serviceClaims struct {
	Actor *actor `json:"act,omitempty"`
	jwt.RegisteredClaims
}

// Mint returns a token for a call to the service audience. onBehalfOf, if not empty, names the service whose
// request this call serves.
func (s *ServiceTokens) Mint(audience, onBehalfOf string) (string, error) {
	if len(s.keys) == 0 {
		return "", errors.New("mint service token: SERVICE_TOKEN_SECRET is not set")
	}
	now := s.clock.Now()
	claims := serviceClaims{RegisteredClaims: jwt.RegisteredClaims{
		Issuer: issuer, Subject: s.name, Audience: jwt.ClaimStrings{audience},
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(ServiceTokenTTL)),
	}}
	if onBehalfOf != "" {
		claims.Actor = &actor{Subject: onBehalfOf}
	}
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
	token.Header["typ"] = serviceTokenType
	return token.SignedString(s.keys[0])
}

// Verifiers returns the key function of a parser that accepts a token signed by any of keys.
func Verifiers(keys [][]byte) jwt.Keyfunc {
	var set jwt.VerificationKeySet
	for _, key := range keys {
		set.Keys = append(set.Keys, key)
	}
	return func(t *jwt.Token) (any, error) {
		if _, critical := t.Header["crit"]; critical { // RFC 7515, 4.1.11: refuse extensions that are not understood
			return nil, errors.New("the token has a critical header that is not supported")
		}
		return set, nil
	}
}

// IsServiceToken reports whether an Authorization header contains a token with the type of a service token,
// valid or not. Listeners for users refuse it unverified.
func IsServiceToken(authorization string) bool {
	return slices.ContainsFunc(
		strings.Fields(authorization),
		func(s string) bool { return tokenType(s) == serviceTokenType },
	)
}

// Verify returns the service that calls audience with the token: the service it acts for, if the token names
// one.
func (s *ServiceTokens) Verify(token, audience string) (caller string, err error) {
	caller, _, err = s.verify(token, audience)
	return caller, err
}

// verify verifies a token like Verify, and also returns the service that issued it.
func (s *ServiceTokens) verify(token, audience string) (caller, via string, err error) {
	if len(s.keys) == 0 {
		return "", "", errDisabled
	}
	var claims serviceClaims
	parsed, err := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithExpirationRequired(),
		jwt.WithIssuer(issuer), jwt.WithAudience(audience), jwt.WithIssuedAt(), jwt.WithStrictDecoding(),
		jwt.WithLeeway(leeway), jwt.WithTimeFunc(s.clock.Now),
	).ParseWithClaims(token, &claims, Verifiers(s.keys))
	if err != nil {
		return "", "", err
	}
	if parsed.Header["typ"] != serviceTokenType || claims.Subject == "" {
		return "", "", fmt.Errorf("%w: not a service token", errClaims)
	}
	if claims.IssuedAt == nil || claims.ExpiresAt.Sub(claims.IssuedAt.Time) > ServiceTokenTTL {
		return "", "", errTooLong
	}
	if claims.Actor == nil || claims.Actor.Subject == "" {
		return claims.Subject, claims.Subject, nil
	}
	if claims.Subject != forwarder(audience) {
		return "", "", errActor
	}
	return claims.Actor.Subject, claims.Subject, nil
}

// forwarder returns the one service that may call audience on behalf of others. The task queue calls the
// gateway's internal listener; the gateway calls the services.
func forwarder(audience string) string {
	if audience == "gateway" {
		return "taskqueue"
	}
	return "gateway"
}
