package authn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
)

var (
	now           = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	mobileSecret  = config.Secret(strings.Repeat("m", 32))
	ephemeral     = config.Secret(strings.Repeat("e", 32))
	serviceSecret = config.Secret(strings.Repeat("s", 32))
)

type sessions map[string]string

func (s sessions) Session(_ context.Context, id string) ([]byte, error) {
	if id == "store-down" {
		return nil, errors.New("connection refused")
	}
	if doc, ok := s[id]; ok {
		return []byte(doc), nil
	}
	return nil, nil
}

func newAuthenticator() *authn.Authenticator {
	store := sessions{
		"asha":    fmt.Sprintf(`{"session_type":"lab_user","lab_id":12,"lab_user_id":77,"full_name":"Asha R","permissions":["report_edit"],"created_at":%d}`, now.Unix()-60),
		"old":     fmt.Sprintf(`{"session_type":"lab_user","lab_id":12,"created_at":%d}`, now.Unix()-28801),
		"strange": fmt.Sprintf(`{"session_type":"robot","lab_id":12,"created_at":%d}`, now.Unix()),
		"broken":  `{`,
		"doctor":  fmt.Sprintf(`{"session_type":"doctor","lab_id":12,"created_at":%d}`, now.Unix()),
		"user":    fmt.Sprintf(`{"session_type":"lab_user","lab_id":12,"created_at":%d}`, now.Unix()),
		"org":     fmt.Sprintf(`{"session_type":"organization","lab_id":12,"lab_user_id":77,"created_at":%d}`, now.Unix()),
		"centre":  fmt.Sprintf(`{"session_type":"collection_center","lab_id":12,"org_id":45,"created_at":%d}`, now.Unix()),
	}
	cfg := authn.Config{
		SessionCookieAgeSeconds: 28800, JWTSecret: mobileSecret, EphemeralJWTSecret: ephemeral,
		EphemeralJWTMaxAgeSeconds: 300, ServiceTokenSecret: serviceSecret,
	}
	return authn.NewAuthenticator(cfg, store, "rerun", clock.Fixed(now))
}

func sign(t *testing.T, method jwt.SigningMethod, key any, claims jwt.MapClaims) string {
	t.Helper()
	token, err := jwt.NewWithClaims(method, claims).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return "Bearer " + token
}

// critical is a good token with a header that its reader must understand.
func critical(t *testing.T, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
	token.Header["crit"] = []string{"x"}
	text, err := token.SignedString([]byte(mobileSecret))
	if err != nil {
		t.Fatal(err)
	}
	return "Bearer " + text
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	hour := now.Add(time.Hour).Unix()
	user := jwt.MapClaims{"lab_id": 12, "lab_user_id": 77, "exp": hour}
	mint := func(secret config.Secret, audience string, at time.Time) string {
		token, err := authn.NewServiceTokens(secret, "taskqueue", clock.Fixed(at)).Mint(audience, "")
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + token
	}
	cases := []struct {
		name string
		in   authn.Credentials
		want authn.Kind // Anonymous means refused
		kind apperr.Kind
	}{
		{"session", authn.Credentials{Cookie: "theme=dark; bad cookie,; sessionid=asha"}, authn.Session, 0},
		{"no credential", authn.Credentials{}, 0, apperr.Unauthenticated},
		{"unknown session", authn.Credentials{Cookie: "sessionid=unknown"}, 0, apperr.Unauthenticated},
		{"session past its age", authn.Credentials{Cookie: "sessionid=old"}, 0, apperr.Unauthenticated},
		{"session of an unknown type", authn.Credentials{Cookie: "sessionid=strange"}, 0, apperr.Unauthenticated},
		{"session that does not parse", authn.Credentials{Cookie: "sessionid=broken"}, 0, apperr.Unauthenticated},
		{"doctor without a number", authn.Credentials{Cookie: "sessionid=doctor"}, 0, apperr.Unauthenticated},
		{"lab user without a number", authn.Credentials{Cookie: "sessionid=user"}, 0, apperr.Unauthenticated},
		{"organization without a number", authn.Credentials{Cookie: "sessionid=org"}, 0, apperr.Unauthenticated},
		{"collection centre without a number", authn.Credentials{Cookie: "sessionid=centre"}, 0, apperr.Unauthenticated},
		{"token of a doctor without a number", authn.Credentials{Authorization: sign(t, jwt.SigningMethodHS256, []byte(mobileSecret), jwt.MapClaims{"session_type": "doctor", "lab_id": 12, "exp": hour})}, 0, apperr.Unauthenticated},
		{"critical header", authn.Credentials{Authorization: critical(t, user)}, 0, apperr.Unauthenticated},
		{"session store down", authn.Credentials{Cookie: "sessionid=store-down"}, 0, apperr.Unavailable},
		{"mobile token", authn.Credentials{Authorization: sign(t, jwt.SigningMethodHS256, []byte(mobileSecret), user)}, authn.Bearer, 0},
		{"bad bearer beats a good cookie", authn.Credentials{Authorization: "Bearer x.y.z", Cookie: "sessionid=asha"}, 0, apperr.Unauthenticated},
		{"basic credential", authn.Credentials{Authorization: "Basic YTpi"}, 0, apperr.Unauthenticated},
		{"another algorithm", authn.Credentials{Authorization: sign(t, jwt.SigningMethodHS512, []byte(mobileSecret), user)}, 0, apperr.Unauthenticated},
		{"no signature", authn.Credentials{Authorization: sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, user)}, 0, apperr.Unauthenticated},
		{"empty secret", authn.Credentials{Authorization: sign(t, jwt.SigningMethodHS256, []byte(""), user)}, 0, apperr.Unauthenticated},
		{"no expiry", authn.Credentials{Authorization: sign(t, jwt.SigningMethodHS256, []byte(mobileSecret), jwt.MapClaims{"lab_id": 12})}, 0, apperr.Unauthenticated},
		{"expired", authn.Credentials{Authorization: sign(t, jwt.SigningMethodHS256, []byte(mobileSecret), jwt.MapClaims{"exp": now.Add(-time.Minute).Unix()})}, 0, apperr.Unauthenticated},
		{"lifetime too long", authn.Credentials{Authorization: sign(t, jwt.SigningMethodHS256, []byte(mobileSecret), jwt.MapClaims{"exp": now.AddDate(9, 0, 0).Unix()})}, 0, apperr.Unauthenticated},
		{"ephemeral token", authn.Credentials{Authorization: sign(t, jwt.SigningMethodHS256, []byte(ephemeral), jwt.MapClaims{"iat": now.Unix() - 299, "exp": hour})}, authn.Bearer, 0},
		{"ephemeral token too old", authn.Credentials{Authorization: sign(t, jwt.SigningMethodHS256, []byte(ephemeral), jwt.MapClaims{"iat": now.Unix() - 301, "exp": hour})}, 0, apperr.Unauthenticated},
		{"dated a minute ahead", authn.Credentials{Authorization: sign(t, jwt.SigningMethodHS256, []byte(mobileSecret), jwt.MapClaims{"iat": now.Unix() + 59, "exp": hour})}, authn.Bearer, 0},
		{"dated further ahead", authn.Credentials{Authorization: sign(t, jwt.SigningMethodHS256, []byte(mobileSecret), jwt.MapClaims{"iat": now.Unix() + 62, "exp": hour})}, 0, apperr.Unauthenticated},
		{"ephemeral token dated a month ahead", authn.Credentials{Authorization: sign(t, jwt.SigningMethodHS256, []byte(ephemeral), jwt.MapClaims{"iat": now.AddDate(0, 1, 0).Unix(), "exp": now.AddDate(0, 2, 0).Unix()})}, 0, apperr.Unauthenticated},
		{"for this platform", authn.Credentials{Authorization: sign(t, jwt.SigningMethodHS256, []byte(mobileSecret), jwt.MapClaims{"aud": []string{"x", "lab"}, "exp": hour})}, authn.Bearer, 0},
		{"for another platform", authn.Credentials{Authorization: sign(t, jwt.SigningMethodHS256, []byte(mobileSecret), jwt.MapClaims{"aud": "billing", "exp": hour})}, 0, apperr.Unauthenticated},
		{"service token", authn.Credentials{Authorization: mint(serviceSecret, "rerun", now)}, authn.Service, 0},
		{"service token for another service", authn.Credentials{Authorization: mint(serviceSecret, "callout", now)}, 0, apperr.Unauthenticated},
		{"service token with another secret", authn.Credentials{Authorization: mint(mobileSecret, "rerun", now)}, 0, apperr.Unauthenticated},
		{"service token expired", authn.Credentials{Authorization: mint(serviceSecret, "rerun", now.Add(-2*time.Minute))}, 0, apperr.Unauthenticated},
		{"user claims signed as a service", authn.Credentials{Authorization: sign(t, jwt.SigningMethodHS256, []byte(serviceSecret), user)}, 0, apperr.Unauthenticated},
	}
	a := newAuthenticator()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, err := a.Authenticate(t.Context(), c.in)
			if p.Kind != c.want {
				t.Fatalf("kind = %v (error %v), want %v", p.Kind, err, c.want)
			}
			if c.want == authn.Anonymous && apperr.KindOf(err) != c.kind {
				t.Fatalf("error kind = %v, want %v", apperr.KindOf(err), c.kind)
			}
		})
	}
}

func TestARefusedTokenSaysWhy(t *testing.T) {
	t.Parallel()
	hour := now.Add(time.Hour).Unix()
	user := func(secret config.Secret, claims jwt.MapClaims) string {
		return sign(t, jwt.SigningMethodHS256, []byte(secret), claims)
	}
	service := func(claims jwt.MapClaims) string {
		all := jwt.MapClaims{"iss": "labplatform", "sub": "core", "aud": "rerun", "iat": now.Unix(), "exp": now.Unix() + 60}
		for name, value := range claims {
			all[name] = value
		}
		token := jwt.NewWithClaims(jwt.SigningMethodHS256, all)
		token.Header["typ"] = "service+jwt"
		text, err := token.SignedString([]byte(serviceSecret))
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + text
	}
	a := newAuthenticator()
	for name, c := range map[string]struct{ credential, want string }{
		"another scheme":            {"Basic YTpi", "CREDENTIAL_SCHEME"},
		"no JWT":                    {"Bearer x", "TOKEN_MALFORMED"},
		"another secret":            {user("another secret of this length 32", jwt.MapClaims{"exp": hour}), "TOKEN_SIGNATURE"},
		"forged and expired":        {user("another secret of this length 32", jwt.MapClaims{"exp": 1}), "TOKEN_SIGNATURE"},
		"no expiry":                 {user(mobileSecret, jwt.MapClaims{"lab_id": 12}), "TOKEN_WITHOUT_CLAIM"},
		"expired":                   {user(mobileSecret, jwt.MapClaims{"exp": now.Unix() - 60}), "TOKEN_EXPIRED"},
		"ephemeral, too old":        {user(ephemeral, jwt.MapClaims{"iat": now.Unix() - 301, "exp": hour}), "TOKEN_EXPIRED"},
		"for another platform":      {user(mobileSecret, jwt.MapClaims{"aud": "billing", "exp": hour}), "TOKEN_AUDIENCE"},
		"dated ahead":               {user(mobileSecret, jwt.MapClaims{"iat": hour, "exp": hour}), "TOKEN_NOT_YET_VALID"},
		"nine years":                {user(mobileSecret, jwt.MapClaims{"exp": now.AddDate(9, 0, 0).Unix()}), "TOKEN_TOO_LONG"},
		"an unknown kind of login":  {user(mobileSecret, jwt.MapClaims{"session_type": "robot", "exp": hour}), "TOKEN_CLAIMS"},
		"a service, good":           {service(nil), ""},
		"a service, elsewhere":      {service(jwt.MapClaims{"aud": "callout"}), "TOKEN_AUDIENCE"},
		"a service, two minutes":    {service(jwt.MapClaims{"exp": now.Unix() + 120}), "TOKEN_TOO_LONG"},
		"a service, expired":        {service(jwt.MapClaims{"iat": now.Unix() - 120, "exp": now.Unix() - 60}), "TOKEN_EXPIRED"},
		"a service, another issuer": {service(jwt.MapClaims{"iss": "me"}), "TOKEN_ISSUER"},
		"a service, dated ahead":    {service(jwt.MapClaims{"iat": now.Unix() + 60, "exp": now.Unix() + 90}), "TOKEN_NOT_YET_VALID"},
		"a service for another":     {service(jwt.MapClaims{"act": map[string]string{"sub": "rerun"}}), "TOKEN_ACTOR"},
	} {
		_, err := a.Authenticate(t.Context(), authn.Credentials{Authorization: c.credential})
		var refusal *apperr.Error
		if errors.As(err, &refusal); (err == nil) != (c.want == "") || (err != nil && refusal.Reason != c.want) {
			t.Errorf("%s: error = %v, want the reason %q", name, err, c.want)
		}
	}
}

func TestSessionBecomesPrincipal(t *testing.T) {
	t.Parallel()
	p, err := newAuthenticator().Authenticate(t.Context(), authn.Credentials{Cookie: "sessionid=asha", Internal: true})
	if err != nil {
		t.Fatal(err)
	}
	if p.LabID != 12 || p.Actor() != (authn.Actor{Kind: authn.ActorLabUser, ID: 77, Name: "Asha R"}) || !p.Has("report_edit") || p.Has("other") {
		t.Fatalf("principal = %+v, want lab user 77 of laboratory 12 with the permission report_edit only", p)
	}
	if p.Internal {
		t.Fatal("Internal = true for a user's session, want false")
	}
}

func TestServiceTokenNamesCallerAndForwarder(t *testing.T) {
	t.Parallel()
	tokens := authn.NewServiceTokens(serviceSecret, "gateway", clock.Fixed(now))
	token, err := tokens.Mint("rerun", "taskqueue")
	if err != nil {
		t.Fatal(err)
	}
	p, err := newAuthenticator().Authenticate(t.Context(), authn.Credentials{Authorization: "Bearer " + token, Internal: true})
	if err != nil {
		t.Fatal(err)
	}
	if p.Caller != "taskqueue" || p.Via != "gateway" || !p.Internal || p.Actor() != authn.Platform {
		t.Fatalf("principal = %+v, want caller taskqueue via gateway, internal, actor Platform", p)
	}
}

func TestOnlyTheForwarderOfAnAudienceMayNameAnotherCaller(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, audience string
		ok             bool
	}{
		{"gateway", "rerun", true}, {"search", "rerun", false}, {"taskqueue", "rerun", false},
		{"taskqueue", "gateway", true}, {"search", "gateway", false}, {"gateway", "gateway", false},
	} {
		tokens := authn.NewServiceTokens(serviceSecret, c.name, clock.Fixed(now))
		token, err := tokens.Mint(c.audience, "core")
		if err != nil {
			t.Fatal(err)
		}
		if caller, err := tokens.Verify(token, c.audience); (err == nil) != c.ok || c.ok && caller != "core" {
			t.Errorf("token of %s to %s for core: caller %q, error %v; accepted should be %t", c.name, c.audience, caller, err, c.ok)
		}
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	user := authn.Principal{Kind: authn.Session, LabID: 12}
	service := authn.Principal{Kind: authn.Service}
	cases := []struct {
		name  string
		p     authn.Principal
		named int64
		want  int64 // 0: refused
	}{
		{"user, none named", user, 0, 12},
		{"user, own named", user, 12, 12},
		{"user, another named", user, 13, 0},
		{"user without laboratory", authn.Principal{Kind: authn.Session}, 0, 0},
		{"user without laboratory names one", authn.Principal{Kind: authn.Session}, 12, 0},
		{"service, named", service, 12, 12},
		{"service, none named", service, 0, 0},
		{"service, negative", service, -1, 0},
	}
	for _, c := range cases {
		scope, err := c.p.Scope(c.named)
		if scope.LabID() != c.want || (err == nil) != (c.want != 0) {
			t.Errorf("%s: laboratory = %d, error %v, want %d", c.name, scope.LabID(), err, c.want)
		}
	}
}

func TestConfigRefusesWeakAndSharedSecrets(t *testing.T) {
	t.Parallel()
	bad := []authn.Config{
		{JWTSecret: "short"},
		{JWTSecret: mobileSecret, ServiceTokenSecret: mobileSecret},
	}
	for i, cfg := range bad {
		if cfg.Validate() == nil {
			t.Errorf("config %d is accepted, want an error", i)
		}
	}
	good := authn.Config{JWTSecret: mobileSecret, ServiceTokenSecret: serviceSecret}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}
