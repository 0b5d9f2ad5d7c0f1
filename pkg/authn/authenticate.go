package authn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
)

const (
	sessionCookie     = "sessionid"
	maxSessionIDBytes = 256
)

const (
	defaultAudience = "lab"
	maxClockSkew    = time.Minute
)

// maxTokenLife caps the time from now to exp. It refuses tokens that practically never expire.
const maxTokenLife = 366 * 24 * time.Hour

// SessionStore reads session documents.
type SessionStore interface {
	// Session returns the JSON document of a session, or nil if the session does not exist. An error other than
	// that of ctx means that the store is unavailable; it must not log anyone out. When the caller's own deadline
	// ended the query, the error is that of ctx.
	Session(ctx context.Context, id string) ([]byte, error)
}

// Credentials holds what a caller presented.
type Credentials struct {
	Authorization string // value of the whole header
	Cookie        string // the whole header
	Internal      bool   // x-is-internal-request was sent to the internal listener
}

// Authenticator verifies the credentials of calls to one service. It is safe for concurrent use.
type Authenticator struct {
	cfg      Config
	sessions SessionStore
	tokens   *ServiceTokens
	audience string
	clock    clock.Clock
}

// NewAuthenticator returns the authenticator of the service named audience.
func NewAuthenticator(cfg Config, sessions SessionStore, audience string, c clock.Clock) *Authenticator {
	return &Authenticator{
		cfg: cfg, sessions: sessions, audience: audience, clock: c,
		tokens: NewServiceTokens(cfg.ServiceTokenSecret, audience, c),
	}
}

// Authenticate returns the principal of the credentials. Errors: Unauthenticated for a missing or invalid credential,
// Unavailable when the session store is unavailable, and that of ctx when it ended during the look-up.
func (a *Authenticator) Authenticate(ctx context.Context, c Credentials) (Principal, error) {
	if c.Authorization != "" {
		return a.bearer(c)
	}
	id := SessionID(c.Cookie)
	if id == "" {
		return Principal{}, apperr.New(apperr.Unauthenticated, "CREDENTIAL_MISSING",
			"Log in first, or send an Authorization: Bearer token.")
	}
	return a.session(ctx, id)
}

func (a *Authenticator) bearer(c Credentials) (Principal, error) {
	scheme, token, _ := strings.Cut(c.Authorization, " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
		return Principal{}, Refusal(errScheme)
	}
	if tokenType(token) == serviceTokenType {
		caller, via, err := a.tokens.verify(token, a.audience)
		if err != nil {
			return Principal{}, Refusal(err)
		}
		return Principal{Kind: Service, Caller: caller, Via: via, Internal: c.Internal}, nil
	}
	return a.user(token)
}

// user tries the secrets of all kinds of user tokens in turn; the secret that verifies the token decides its
// kind.
func (a *Authenticator) user(token string) (Principal, error) {
	kinds := []struct {
		secret config.Secret
		maxAge time.Duration
	}{
		{a.cfg.JWTSecret, 0},
		{a.cfg.LegacyJWTSecret, 0},
		{a.cfg.EphemeralJWTSecret, time.Duration(a.cfg.EphemeralJWTMaxAgeSeconds) * time.Second},
	}
	err := errDisabled
	for _, kind := range kinds {
		if !kind.secret.IsSet() {
			continue
		}
		var claims userClaims
		claims, err = a.parse(token, kind.secret)
		if errors.Is(err, jwt.ErrTokenSignatureInvalid) {
			continue
		}
		if err == nil {
			err = a.check(claims, kind.maxAge)
		}
		if err == nil {
			return claims.principal(Bearer), nil
		}
		break
	}
	return Principal{}, Refusal(err)
}

func (a *Authenticator) parse(token string, secret config.Secret) (userClaims, error) {
	var claims userClaims
	_, err := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithExpirationRequired(),
		jwt.WithStrictDecoding(), jwt.WithLeeway(leeway), jwt.WithTimeFunc(a.clock.Now),
	).ParseWithClaims(token, &claims, Verifiers(secret.Keys()))
	return claims, err
}

func (a *Authenticator) check(claims userClaims, maxAge time.Duration) error {
	now := a.clock.Now()
	if len(claims.Audience) > 0 && !slices.Contains(claims.Audience, cmp.Or(a.cfg.Audience, defaultAudience)) {
		return errAudience
	}
	// A token dated in the future would outlive the maximum age of its kind.
	if claims.IssuedAt != nil && claims.IssuedAt.Sub(now) > maxClockSkew {
		return errFuture
	}
	if claims.ExpiresAt.Sub(now) > maxTokenLife {
		return errTooLong
	}
	if claims.SessionType != "" && !claims.SessionType.known() {
		return fmt.Errorf("%w: unknown session type", errClaims)
	}
	if !claims.numbered() {
		return fmt.Errorf("%w: the number of its kind is missing", errClaims)
	}
	if maxAge == 0 {
		return nil
	}
	if claims.IssuedAt == nil || now.Sub(claims.IssuedAt.Time) > maxAge {
		return errTooOld
	}
	return nil
}

func (a *Authenticator) session(ctx context.Context, id string) (Principal, error) {
	document, err := a.sessions.Session(ctx, id)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) { // the caller's own context ended
		return Principal{}, fmt.Errorf("look up session: %w", err)
	}
	if err != nil {
		return Principal{}, apperr.New(apperr.Unavailable, "SESSION_STORE_UNAVAILABLE",
			"Sessions cannot be checked right now. Try again in a moment.").
			WithRetryAfter(5 * time.Second).WithCause(err)
	}
	if document == nil {
		return Principal{}, sessionOver()
	}
	var doc identity
	if err := json.Unmarshal(document, &doc); err != nil || !doc.SessionType.known() || !doc.numbered() {
		return Principal{}, sessionOver()
	}
	created, err := doc.CreatedAt.Float64()
	maxAge := time.Duration(a.cfg.SessionCookieAgeSeconds) * time.Second
	if err != nil || a.clock.Now().Sub(time.Unix(int64(created), 0)) > maxAge {
		return Principal{}, sessionOver()
	}
	p := doc.principal(Session)
	p.Login = config.Secret(id)
	return p, nil
}

// Again returns the principal of a login as it is now. Errors are those of Authenticate.
func (a *Authenticator) Again(ctx context.Context, login config.Secret) (Principal, error) {
	return a.session(ctx, login.Reveal())
}

func sessionOver() error {
	return apperr.New(apperr.Unauthenticated, "SESSION_EXPIRED", "The session has ended. Log in again.")
}

// SessionID returns the value of the session cookie in a Cookie header, empty without one; malformed neighbours are
// ignored.
func SessionID(header string) string {
	request := http.Request{Header: http.Header{"Cookie": {header}}}
	cookie, err := request.Cookie(sessionCookie)
	if err != nil || len(cookie.Value) > maxSessionIDBytes {
		return ""
	}
	return cookie.Value
}

// tokenType returns the typ header of a token without verifying it; it only selects the keys that may verify
// the token.
func tokenType(token string) any {
	parsed, _, err := jwt.NewParser().ParseUnverified(token, jwt.MapClaims{})
	if err != nil {
		return nil
	}
	return parsed.Header["typ"]
}
