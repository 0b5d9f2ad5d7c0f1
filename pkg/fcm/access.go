package fcm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/netguard"
)

const (
	renewBefore  = time.Minute
	tokenTimeout = 10 * time.Second
)

// Access caches the access token of a service account and renews it a minute before it expires. It is safe for
// concurrent use.
type Access struct {
	client Client
	clock  clock.Clock
	read   func() (*Account, error)

	mu    sync.Mutex // guards the token; locked during a fetch, so that concurrent callers share it
	token string
	until time.Time
}

// NewAccess returns the access of the account that read returns. Every renewal calls read, so a rotated key works
// without a restart.
func NewAccess(client Client, c clock.Clock, read func() (*Account, error)) *Access {
	return &Access{client: client, clock: c, read: read}
}

// Token returns a token that is valid for at least a minute. Errors are *Error or those of client.
func (a *Access) Token(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock.Now()
	if a.token != "" && now.Add(renewBefore).Before(a.until) {
		return a.token, nil
	}
	token, err := a.fetch(ctx, now)
	if err != nil {
		return "", err
	}
	seconds, _ := token.Extra("expires_in").(float64) // on the given clock; the library's Expiry uses the machine's
	a.token, a.until = token.AccessToken, now.Add(time.Duration(seconds)*time.Second)
	return a.token, nil
}

// Drop discards a token that the provider has rejected.
func (a *Access) Drop(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.token == token {
		a.token = ""
	}
}

func (a *Access) fetch(ctx context.Context, now time.Time) (*oauth2.Token, error) {
	account, err := a.read()
	if err != nil {
		return nil, &Error{
			Class:   Configuration,
			Reason:  "secret",
			Message: "The push provider's key cannot be read or used",
			cause:   err,
		}
	}
	guarded := &transport{ctx: ctx, client: a.client}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: guarded})
	token, err := account.grant.TokenSource(ctx).Token()
	var answer *oauth2.RetrieveError
	switch {
	case guarded.err != nil: // the library would keep only the error's text
		return nil, guarded.err
	case errors.As(err, &answer):
		return nil, refused(answer.Response, now)
	case err != nil || token.AccessToken == "":
		return nil, &Error{Class: Temporary, Reason: "access_token", Message: "The push provider returned no access token"}
	}
	return token, nil
}

func refused(answer *http.Response, now time.Time) *Error {
	switch answer.StatusCode {
	case http.StatusBadRequest, http.StatusUnauthorized: // such as invalid_grant and invalid_client
		return &Error{
			Class:   Configuration,
			Reason:  "credentials",
			Message: "The push provider does not accept the service account",
		}
	}
	return ofStatus(
		&netguard.Response{Status: answer.StatusCode, Header: answer.Header},
		now,
		"The push provider's token endpoint",
	)
}

// transport sends the library's request through the guarded client, in the caller's context.
type transport struct {
	ctx    context.Context
	client Client
	err    error
}

var _ http.RoundTripper = (*transport)(nil)

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	kept, err := t.client.Do(t.ctx, netguard.Request{
		Method: r.Method, URL: r.URL, Header: r.Header, Body: body, Timeout: tokenTimeout,
	})
	if err != nil {
		t.err = err
		return nil, err
	}
	return &http.Response{
		StatusCode: kept.Status, Header: kept.Header, Body: io.NopCloser(bytes.NewReader(kept.Body)), Request: r,
	}, nil
}
