// Package authn authenticates callers: it turns a session cookie, a user's bearer token or a service token
// into one Principal per call, and a Principal into the LabScope that every repository query requires.
//
// A bearer token takes precedence over the cookie; an invalid token is an error and never falls back to the
// cookie. Only HS256 is accepted, exp is required, and an empty secret disables its kind of token.
package authn
