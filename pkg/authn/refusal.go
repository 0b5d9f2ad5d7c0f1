package authn

import (
	"errors"

	"github.com/golang-jwt/jwt/v5"

	"github.com/labplatform/labplatform/pkg/apperr"
)

var (
	errScheme   = errors.New("not a bearer credential")
	errDisabled = errors.New("tokens of this kind are disabled")
	errAudience = errors.New("the token is for another platform")
	errFuture   = errors.New("the token is dated in the future")
	errTooLong  = errors.New("the token's lifetime is too long")
	errTooOld   = errors.New("the ephemeral token is too old")
	errClaims   = errors.New("the claims describe no login")
	errActor    = errors.New("only the forwarder of an audience may name another caller")
)

// refusals lists the reason and the message for the caller by cause; the first match counts. Claims are checked only
// after the signature, so the response to a forged token reveals nothing but that it is forged.
var refusals = []struct {
	cause           error
	reason, message string
}{
	{errScheme, "CREDENTIAL_SCHEME", "Only bearer tokens are accepted. Send Authorization: Bearer and the token."},
	{jwt.ErrTokenMalformed, "TOKEN_MALFORMED", "The bearer token is no JWT. Send it as it was issued."},
	{jwt.ErrTokenSignatureInvalid, "TOKEN_SIGNATURE", "The token was signed with another secret or not with HS256. Get one from this platform."},
	{jwt.ErrTokenExpired, "TOKEN_EXPIRED", "The token has expired. Get a new one."},
	{errTooOld, "TOKEN_EXPIRED", "The token has expired. Get a new one."},
	{jwt.ErrTokenRequiredClaimMissing, "TOKEN_WITHOUT_CLAIM", "The token lacks a claim that is required, such as exp. Get one that has it."},
	{jwt.ErrTokenInvalidAudience, "TOKEN_AUDIENCE", "The token is for another service. Its aud must name the one that is called."},
	{errAudience, "TOKEN_AUDIENCE", "The token is for another platform. Its aud must name this one, or be absent."},
	{jwt.ErrTokenInvalidIssuer, "TOKEN_ISSUER", "The token has another issuer. Its iss must be labplatform."},
	{jwt.ErrTokenUsedBeforeIssued, "TOKEN_NOT_YET_VALID", "The token is dated in the future. Check the issuer's clock."},
	{jwt.ErrTokenNotValidYet, "TOKEN_NOT_YET_VALID", "The token is dated in the future. Check the issuer's clock."},
	{errFuture, "TOKEN_NOT_YET_VALID", "The token is dated in the future. Check the issuer's clock."},
	{errTooLong, "TOKEN_TOO_LONG", "The token lives too long: a user's at most 366 days, a service's 60 seconds. Get one with an earlier exp."},
	{errClaims, "TOKEN_CLAIMS", "The token describes no login: session_type must be known, and have its number. A service's needs sub and typ."},
	{errActor, "TOKEN_ACTOR", "Only the platform's forwarders may name another caller in act. Call in your own name."},
	{errDisabled, "TOKEN_KIND_DISABLED", "This service accepts no tokens of that kind. Ask the platform's operator."},
}

// Refusal returns the Unauthenticated error of a bearer credential that was refused because of cause.
func Refusal(cause error) *apperr.Error {
	for _, r := range refusals {
		if errors.Is(cause, r.cause) {
			return apperr.New(apperr.Unauthenticated, r.reason, r.message).WithCause(cause)
		}
	}
	return apperr.New(apperr.Unauthenticated, "TOKEN_INVALID", "The bearer token is not valid. Get a new one.").
		WithCause(cause)
}
