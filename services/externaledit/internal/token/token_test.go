package token_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/token"
)

const secret = "0123456789abcdef0123456789abcdef"

var now = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)

func minted(t *testing.T) string {
	t.Helper()
	text, err := token.New(secret, clock.Fixed(now)).Mint(&session.Session{
		ID: 123, LabID: 12, ReportID: 7001, TokenID: "id-1", Author: session.Author{ID: 77,
			Name: "Dr. Smith"}, ExpiresAt: now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestATokenHasTheDocumentedClaims(t *testing.T) {
	t.Parallel()
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(minted(t), ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims map[string]any
	if err := json.Unmarshal(payload, &claims); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"user_id": 77.0, "lab_report_id": 7001.0, "session_id": 123.0,
		"exp": float64(now.Add(time.Hour).Unix())} {
		if claims[name] != want {
			t.Errorf("%s is %v, want %v", name, claims[name], want)
		}
	}
	want := session.Grant{SessionID: 123, ReportID: 7001, TokenID: "id-1", Author: session.Author{ID: 77, Name: "Dr. Smith"}}
	for at, expired := range map[time.Time]bool{now: false, now.Add(time.Hour): false, now.Add(time.Hour + time.Minute): true} {
		want.Expired = expired
		lab, got, err := token.New(secret, clock.Fixed(at)).Verify(minted(t))
		if err != nil || lab != 12 || got != want {
			t.Errorf("at %v: %+v %v", at, got, err)
		}
	}
}

func signed(t *testing.T, method jwt.SigningMethod, typ string, key any, change func(jwt.MapClaims)) string {
	t.Helper()
	claims := jwt.MapClaims{"user_id": 77, "lab_report_id": 7001, "session_id": 123, "lab_id": 12, "jti": "id-1",
		"iss": "labplatform",
		"aud": "externaledit", "exp": now.Add(time.Hour).Unix()}
	change(claims)
	tok := jwt.NewWithClaims(method, claims)
	tok.Header["typ"] = typ
	text, err := tok.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestOtherTokensAreRefused(t *testing.T) {
	t.Parallel()
	const typ = "external-edit+jwt"
	keep := func(jwt.MapClaims) {}
	for name, text := range map[string]string{
		"nothing":         "",
		"another secret":  signed(t, jwt.SigningMethodHS256, typ, []byte(strings.Repeat("x", 32)), keep),
		"an empty secret": signed(t, jwt.SigningMethodHS256, typ, []byte{}, keep),
		"no signature":    signed(t, jwt.SigningMethodNone, typ, jwt.UnsafeAllowNoneSignatureType, keep),
		"HS512":           signed(t, jwt.SigningMethodHS512, typ, []byte(secret), keep),
		"another type":    signed(t, jwt.SigningMethodHS256, "JWT", []byte(secret), keep),
		"without an end":  signed(t, jwt.SigningMethodHS256, typ, []byte(secret), func(c jwt.MapClaims) { delete(c, "exp") }),
		"another service": signed(t, jwt.SigningMethodHS256, typ, []byte(secret),
			func(c jwt.MapClaims) { c["aud"] = "gateway" }),
		"another issuer": signed(t, jwt.SigningMethodHS256, typ, []byte(secret), func(c jwt.MapClaims) { c["iss"] = "x" }),
		"no session": signed(t, jwt.SigningMethodHS256, typ, []byte(secret),
			func(c jwt.MapClaims) { delete(c, "session_id") }),
		"no laboratory": signed(t, jwt.SigningMethodHS256, typ, []byte(secret),
			func(c jwt.MapClaims) { delete(c, "lab_id") }),
	} {
		if _, _, err := token.New(secret, clock.Fixed(now)).Verify(text); !apperr.Is(err, apperr.Unauthenticated) {
			t.Errorf("%s: got %v, want kind Unauthenticated", name, err)
		}
	}
}

func TestWhatLooksLikeASessionToken(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"Bearer " + minted(t): true, "bearer  " + minted(t): true, minted(t): false, "Basic " +
			minted(t): false, "Bearer x.y.z": false, "": false,
	} {
		if _, got := token.FromHeader(header); got != want {
			t.Errorf("%.20q: %t", header, got)
		}
	}
}
