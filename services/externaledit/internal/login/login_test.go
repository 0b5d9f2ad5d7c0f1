package login_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/services/externaledit/internal/login"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
)

const older, newer = "oooooooooooooooooooooooooooooooo", "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"

// users are the active logins.
type users map[config.Secret]authn.Principal

var errCache = apperr.New(apperr.Unavailable, "SESSION_STORE_UNAVAILABLE", "try again")

func (u users) Again(_ context.Context, id config.Secret) (authn.Principal, error) {
	if id == "unavailable" {
		return authn.Principal{}, errCache
	}
	p, found := u[id]
	if !found {
		return p, apperr.New(apperr.Unauthenticated, "SESSION_EXPIRED", "log in again")
	}
	return p, nil
}

func person(lab, user int64, permissions ...string) authn.Principal {
	return authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: lab, LabUserID: user, Permissions: permissions}
}

func logins(t *testing.T, u users, secret config.Secret) *login.Logins {
	t.Helper()
	l, err := login.New(u, secret)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestTheLoginDecidesWhatItMayDoNow(t *testing.T) {
	t.Parallel()
	l := logins(t, users{
		"editor": person(12, 77, "report_edit"), "chief": person(12, 77, "report_edit_takeover"), "without": person(12, 77),
		"another": person(12, 78, "report_edit_takeover"), "moved": person(13, 77, "report_edit_takeover"),
		"doctor": {Kind: authn.Session, SessionType: authn.Doctor, LabID: 12, DoctorID: 77, Permissions: []string{"report_edit"}},
	}, newer)
	author := session.Author{ID: 77}
	for id, want := range map[config.Secret]struct{ edit, restore bool }{
		"editor": {true, false}, "chief": {true, true}, "without": {}, "another": {}, "moved": {}, "doctor": {}, "ended": {},
	} {
		may, err := l.MayEdit(t.Context(), &session.Session{LabID: 12, Author: author, Login: l.Seal(id)})
		if err != nil || may != want.edit {
			t.Errorf("%s edits: %v, %v; want %v", id, may, err, want.edit)
		}
		may, err = l.MayRestore(t.Context(), storetest.Scope(t, 12), id, author)
		if err != nil || may != want.restore {
			t.Errorf("%s restores: %v, %v; want %v", id, may, err, want.restore)
		}
	}
	_, err := l.MayEdit(t.Context(), &session.Session{LabID: 12, Author: author, Login: l.Seal("unavailable")})
	if !errors.Is(err, errCache) {
		t.Errorf("an unavailable cache: %v, want its error", err)
	}
}

func TestALoginIsSealedAndSurvivesARotation(t *testing.T) {
	t.Parallel()
	u := users{"secret-session": person(12, 77, "report_edit")}
	sealed := logins(t, u, older).Seal("secret-session")
	if bytes.Contains(sealed, []byte("secret")) || bytes.Equal(sealed, logins(t, u, older).Seal("secret-session")) {
		t.Errorf("sealed %q, want nothing of the login, and another text each time", sealed)
	}
	if none := logins(t, u, older).Seal(""); none != nil {
		t.Errorf("no login is sealed as %q, want nil", none)
	}
	for secret, want := range map[config.Secret]bool{older: true, newer + "," + older: true, newer: false} {
		s := session.Session{LabID: 12, Author: session.Author{ID: 77}, Login: sealed}
		if may, err := logins(t, u, secret).MayEdit(t.Context(), &s); err != nil || may != want {
			t.Errorf("with %d bytes of keys: %v, %v; want %v", len(secret), may, err, want)
		}
	}
	kept := logins(t, u, older)
	for login, want := range map[config.Secret]bool{"secret-session": false, "another": true, "": false} {
		renewed := kept.Renewed(sealed, login)
		if got := renewed != nil; got != want || kept.Renewed(renewed, login) != nil {
			t.Errorf("%q is renewed: %t, want %t, and once", login, got, want)
		}
	}
	if kept.Renewed(nil, "another") != nil {
		t.Error("a session that keeps no login is given one")
	}
	if logins(t, u, newer).Renewed(sealed, "secret-session") == nil {
		t.Error("a login of a key that is no longer used is not renewed")
	}
	short := session.Session{LabID: 12, Author: session.Author{ID: 77}, Login: []byte("x")}
	if may, err := logins(t, u, older).MayEdit(t.Context(), &short); may || err != nil {
		t.Errorf("a damaged row: %v, %v; want no right", may, err)
	}
}
