// Package login checks again the logins with which reports are edited.
//
// A session keeps its login encrypted, so that a copy of the database gives no access to accounts.
package login

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/history"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Users looks up logins.
type Users interface {
	// Again returns the present principal of a login, or Unauthenticated if the login has ended.
	Again(ctx context.Context, login config.Secret) (authn.Principal, error)
}

// Logins encrypts logins and checks them again. Its methods may be called from several goroutines.
type Logins struct {
	users Users
	keys  []cipher.AEAD // the first one encrypts, all decrypt
}

var (
	_ editing.Logins = (*Logins)(nil)
	_ history.Logins = (*Logins)(nil)
)

// New returns logins that are checked through users and encrypted with keys derived from secret.
func New(users Users, secret config.Secret) (*Logins, error) {
	l := &Logins{users: users}
	for _, key := range secret.Keys() {
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte("login of an editing session")) // writing to a hash cannot fail
		block, err := aes.NewCipher(mac.Sum(nil))
		if err != nil {
			return nil, fmt.Errorf("seal logins: %w", err)
		}
		sealer, err := cipher.NewGCM(block)
		if err != nil {
			return nil, fmt.Errorf("seal logins: %w", err)
		}
		l.keys = append(l.keys, sealer)
	}
	return l, nil
}

// Seal returns the encrypted login that a session keeps; nil without a login.
func (l *Logins) Seal(login config.Secret) []byte {
	if !login.IsSet() {
		return nil
	}
	nonce := make([]byte, l.keys[0].NonceSize())
	_, _ = rand.Read(nonce) // cannot fail since Go 1.24
	return l.keys[0].Seal(nonce, nonce, []byte(login.Reveal()), nil)
}

// Renewed returns the current login of a session's author, encrypted. It returns nil if the session keeps this login
// already, if it keeps none, or if login is empty.
func (l *Logins) Renewed(sealed []byte, login config.Secret) []byte {
	if sealed == nil {
		return nil
	}
	if kept, ok := l.open(sealed); ok && kept == login {
		return nil
	}
	return l.Seal(login)
}

// open decrypts a login. It returns false if the key is no longer used.
func (l *Logins) open(sealed []byte) (config.Secret, bool) {
	for _, key := range l.keys {
		if len(sealed) < key.NonceSize() {
			return "", false
		}
		text, err := key.Open(nil, sealed[:key.NonceSize()], sealed[key.NonceSize():], nil)
		if err == nil {
			return config.Secret(text), true
		}
	}
	return "", false
}

func (l *Logins) MayEdit(ctx context.Context, s *session.Session) (bool, error) {
	login, ok := l.open(s.Login)
	if !ok {
		return false, nil
	}
	p, err := l.again(ctx, login)
	return owns(p, s.LabID, s.Author) && (p.Has(session.PermissionEdit) || p.Has(session.PermissionTakeOver)), err
}

func (l *Logins) MayRestore(
	ctx context.Context, scope authn.LabScope, login config.Secret, by session.Author,
) (bool, error) {
	p, err := l.again(ctx, login)
	return owns(p, scope.LabID(), by) && p.Has(session.PermissionTakeOver), err
}

// again returns the present principal of a login; the zero principal if the login has ended.
func (l *Logins) again(ctx context.Context, login config.Secret) (authn.Principal, error) {
	p, err := l.users.Again(ctx, login)
	if apperr.Is(err, apperr.Unauthenticated) {
		return authn.Principal{}, nil
	}
	return p, err
}

// owns reports whether the principal is the person, in that laboratory.
func owns(p authn.Principal, labID int64, a session.Author) bool {
	actor := a.Actor()
	return p.LabID == labID && p.Actor().Kind == actor.Kind && p.Actor().ID == actor.ID
}
