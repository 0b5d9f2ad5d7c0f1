// Package authn owns who is calling: it turns a session cookie, a user's bearer token or a service token into
// one Principal per call, and a Principal into the LabScope without which no repository answers.
//
// Bearer wins over the cookie; a bad bearer is an error, never a fall back. Only HS256 is accepted, exp is
// required, and an empty secret disables its kind of token.
package authn
