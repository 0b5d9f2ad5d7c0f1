// Package token issues and verifies the tokens of editing sessions, which a desktop client presents instead of a user's
// login. A token is signed, never stored, and valid for one session. Whether the session is still active is decided by
// its row.
package token

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

const (
	tokenType = "external-edit+jwt"
	issuer    = "labplatform"
	audience  = "externaledit"
	// leeway is the maximum clock difference between two replicas.
	leeway = 2 * time.Second
)

// Claims are the claims of a token. The first four names are documented.
type Claims struct {
	UserID    int64  `json:"user_id"` // the id of a doctor if IsDoctor is set
	ReportID  int64  `json:"lab_report_id"`
	SessionID int64  `json:"session_id"`
	LabID     int64  `json:"lab_id"`
	UserName  string `json:"user_name,omitempty"`
	IsDoctor  bool   `json:"is_doctor,omitempty"`
	jwt.RegisteredClaims
}

// Grant returns what the token permits.
func (c Claims) Grant(now time.Time) session.Grant {
	return session.Grant{
		SessionID: c.SessionID, ReportID: c.ReportID, TokenID: c.ID, Expired: now.After(c.ExpiresAt.Add(leeway)),
		Author: session.Author{ID: c.UserID, Name: c.UserName, IsDoctor: c.IsDoctor},
	}
}

// Tokens issues and verifies tokens.
type Tokens struct {
	keys  [][]byte
	clock clock.Clock
}

// New returns tokens that are signed with the first key of secret and verified with any of them.
func New(secret config.Secret, c clock.Clock) *Tokens { return &Tokens{secret.Keys(), c} }

// Mint returns a token for the session. It expires with the session.
func (t *Tokens) Mint(s *session.Session) (string, error) {
	claims := Claims{
		UserID:    s.Author.ID,
		ReportID:  s.ReportID,
		SessionID: s.ID,
		LabID:     s.LabID,
		UserName:  s.Author.Name,
		IsDoctor:  s.Author.IsDoctor,
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Audience: jwt.ClaimStrings{audience}, ID: s.TokenID,
			IssuedAt: jwt.NewNumericDate(t.clock.Now()), ExpiresAt: jwt.NewNumericDate(s.ExpiresAt),
		},
	}
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
	token.Header["typ"] = tokenType
	text, err := token.SignedString(t.keys[0])
	if err != nil {
		return "", fmt.Errorf("sign session token: %w", err)
	}
	return text, nil
}

var errInvalid = apperr.New(apperr.Unauthenticated, "TOKEN_INVALID",
	"The session token is not valid or has expired. Ask for the session again to get a new one.")

// Verify returns the laboratory and the grant of a genuine token. Expiry is not an error here but a field of the grant,
// so that the caller can first look up the session and say how it ended.
func (t *Tokens) Verify(text string) (labID int64, grant session.Grant, err error) {
	var claims Claims
	parsed, err := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithExpirationRequired(), jwt.WithIssuer(issuer),
		jwt.WithAudience(audience), jwt.WithStrictDecoding(), jwt.WithTimeFunc(beforeEveryEnd),
	).ParseWithClaims(text, &claims, authn.Verifiers(t.keys))
	if err != nil {
		return 0, session.Grant{}, errInvalid.WithCause(err)
	}
	if parsed.Header["typ"] != tokenType || claims.SessionID <= 0 || claims.LabID <= 0 || claims.UserID <= 0 ||
		claims.ID == "" {
		return 0, session.Grant{}, errInvalid.WithCause(errors.New("not a session token"))
	}
	return claims.LabID, claims.Grant(t.clock.Now()), nil
}

// beforeEveryEnd is the time given to the parser, so that it never rejects a token as expired. The grant states the
// expiry.
func beforeEveryEnd() time.Time { return time.Unix(0, 0) }

// FromHeader returns the token of an Authorization header whose type is that of session tokens. It does not verify the
// token.
func FromHeader(authorization string) (string, bool) {
	scheme, text, _ := strings.Cut(authorization, " ")
	text = strings.TrimSpace(text)
	head, _, _ := strings.Cut(text, ".")
	raw, err := base64.RawURLEncoding.DecodeString(head)
	if !strings.EqualFold(scheme, "Bearer") || err != nil {
		return "", false
	}
	var header struct {
		Type string `json:"typ"`
	}
	return text, json.Unmarshal(raw, &header) == nil && header.Type == tokenType
}
