package authn_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/allocation"
)

// The fuzz test checks that only issued tokens are accepted, and that memory use is proportional to the length of the
// text.
func FuzzOnlyIssuedCredentialsCount(f *testing.F) {
	claims := jwt.MapClaims{"lab_id": 12, "lab_user_id": 77, "exp": now.Add(time.Hour).Unix()}
	user, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(mobileSecret))
	if err != nil {
		f.Fatal(err)
	}
	service, err := authn.NewServiceTokens(serviceSecret, "taskqueue", clock.Fixed(now)).Mint("rerun", "")
	if err != nil {
		f.Fatal(err)
	}
	issued := []string{user, service}
	for _, token := range issued {
		f.Add("Bearer "+token, "")
	}
	f.Add("", "theme=dark; sessionid=asha")
	f.Add("Bearer eyJhbGciOiJub25lIn0.eyJsYWJfaWQiOjEyfQ.", "")
	f.Add("bearer "+strings.Repeat(".", 10_000), "sessionid=\"")
	f.Fuzz(func(t *testing.T, authorization, cookie string) {
		var p authn.Principal
		var err error
		allocation.AtMost(t, 1<<20+200*(len(authorization)+len(cookie)), func() {
			p, err = newAuthenticator().Authenticate(t.Context(), authn.Credentials{Authorization: authorization, Cookie: cookie})
		})
		if err != nil {
			return
		}
		_, token, _ := strings.Cut(authorization, " ")
		if p.Kind != authn.Session && !slices.Contains(issued, strings.TrimSpace(token)) {
			t.Errorf("%q is %+v, want it refused", authorization, p)
		}
		if p.Kind == authn.Session && !strings.Contains(cookie, "asha") {
			t.Errorf("%q is %+v, want it refused", cookie, p)
		}
	})
}
