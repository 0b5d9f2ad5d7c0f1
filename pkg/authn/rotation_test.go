package authn_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
)

// during returns the values of a secret at the four steps of a rotation. Every process goes through them in
// this order.
func during(older, newer string) []config.Secret {
	return []config.Secret{
		config.Secret(older), config.Secret(older + "," + newer), config.Secret(newer + "," + older), config.Secret(newer),
	}
}

func TestServiceTokenIsAcceptedThroughoutARotation(t *testing.T) {
	t.Parallel()
	steps := during(strings.Repeat("o", 32), strings.Repeat("n", 32))
	for i := range steps {
		for j := range steps {
			token, err := authn.NewServiceTokens(steps[i], "rerun", clock.Fixed(now)).Mint("taskqueue", "")
			if err != nil {
				t.Fatal(err)
			}
			_, err = authn.NewServiceTokens(steps[j], "taskqueue", clock.Fixed(now)).Verify(token, "taskqueue")
			if together := i-j <= 1 && j-i <= 1; together && err != nil {
				t.Errorf("verifier at step %d refuses a token of step %d: %v, want it accepted", j, i, err)
			}
			if apart := i+j == 3 && (i == 0 || j == 0); apart && err == nil {
				t.Errorf("verifier at step %d accepts a token of step %d, want it refused", j, i)
			}
		}
	}
}

func TestUserTokenIsAcceptedThroughoutARotation(t *testing.T) {
	t.Parallel()
	older, newer := strings.Repeat("o", 32), strings.Repeat("n", 32)
	claims := jwt.MapClaims{"lab_id": 12, "lab_user_id": 77, "exp": now.Add(time.Hour).Unix(), "iat": now.Unix()}
	for _, c := range []struct {
		cfg  authn.Config
		good []string // keys whose tokens are accepted
		bad  []string
	}{
		{authn.Config{JWTSecret: config.Secret(newer + "," + older)}, []string{older, newer}, nil},
		{authn.Config{LegacyJWTSecret: config.Secret(newer + "," + older)}, []string{older, newer}, nil},
		{authn.Config{EphemeralJWTSecret: config.Secret(newer + "," + older), EphemeralJWTMaxAgeSeconds: 300},
			[]string{older, newer}, nil},
		{authn.Config{JWTSecret: config.Secret(newer)}, []string{newer}, []string{older, newer + "," + older, ""}},
	} {
		a := authn.NewAuthenticator(c.cfg, sessions{}, "rerun", clock.Fixed(now))
		for i, key := range append(c.good, c.bad...) {
			token := sign(t, jwt.SigningMethodHS256, []byte(key), claims)
			_, err := a.Authenticate(context.Background(), authn.Credentials{Authorization: token})
			if (err == nil) != (i < len(c.good)) {
				t.Errorf("%+v, token signed with %.8s…: error %v, accepted should be %t", c.cfg, key, err, i < len(c.good))
			}
		}
	}
}
