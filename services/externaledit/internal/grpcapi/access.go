package grpcapi

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/token"
)

var (
	errNotAllowed = apperr.New(apperr.Forbidden, "NOT_ALLOWED",
		"Editing reports needs the permission report_edit; ask an administrator of the laboratory")
	errNoAuthor = apperr.New(apperr.Forbidden, "NO_AUTHOR",
		"Only laboratory users and doctors can hold an editing session; log in as one of them")
	errNotAllowedToEnd = apperr.New(apperr.Forbidden, "NOT_ALLOWED",
		"Ending another user's session needs the permission report_edit_takeover; ask an administrator of the laboratory")
	errStaffOnly = apperr.New(apperr.Forbidden, "STAFF_ONLY",
		"Only the staff of the laboratory sees editing sessions")
	errTokenRequired = apperr.New(apperr.Unauthenticated, "SESSION_TOKEN_REQUIRED",
		"Send the auth_token of the session as Authorization: Bearer; a user's login is not accepted here")
)

// Authenticator accepts session tokens as well as the platform's credentials.
type Authenticator struct {
	Users  grpcserver.Authenticator
	Tokens *token.Tokens
}

// Authenticate returns the principal of the credentials. For a session token, that is the author of the session without
// permissions.
func (a Authenticator) Authenticate(ctx context.Context, c authn.Credentials) (authn.Principal, error) {
	text, ok := token.FromHeader(c.Authorization)
	if !ok {
		return a.Users.Authenticate(ctx, c)
	}
	labID, grant, err := a.Tokens.Verify(text)
	if err != nil {
		return authn.Principal{}, err
	}
	p := authn.Principal{Kind: authn.Bearer, LabID: labID, FullName: grant.Author.Name, Grant: grant}
	if grant.Author.IsDoctor {
		p.DoctorID = grant.Author.ID
	} else {
		p.LabUserID = grant.Author.ID
	}
	return p, nil
}

// caller is the authenticated caller, with the laboratory of the request.
type caller struct {
	authn.Principal
	scope authn.LabScope
	grant *session.Grant // grant of a session token; nil for users
}

// callerOf returns the caller. It rejects the token of a session that has ended.
func (s *Server) callerOf(ctx context.Context) (caller, error) {
	c, err := presented(ctx)
	if err == nil && c.grant != nil {
		err = s.d.Editor.Admit(ctx, c.scope, *c.grant)
	}
	return c, err
}

// presented returns the caller without checking that the session of a token is active. Only EndSession uses it
// directly, because ending a session may be repeated.
func presented(ctx context.Context) (caller, error) {
	p := authn.FromContext(ctx)
	scope, err := p.Scope(0)
	c := caller{Principal: p, scope: scope}
	if g, ok := p.Grant.(session.Grant); ok {
		c.grant = &g
	}
	return c, err
}

// mayView admits staff and doctors of the laboratory, and holders of a token of one of the report's sessions. Referring
// doctors are admitted only for reports on their own bills.
func (s *Server) mayView(ctx context.Context, c caller, reportID int64) error {
	if c.grant != nil {
		return c.grant.CheckReport(reportID)
	}
	if doctorID, ok := c.ReferringDoctor(); ok {
		return s.d.Editor.Referred(ctx, c.scope, reportID, doctorID)
	}
	if c.IsStaff() || c.SessionType == authn.Doctor {
		return nil
	}
	return errStaffOnly
}

// mayTakeOver reports whether the caller may end and undo the work of other users.
func (c caller) mayTakeOver() bool {
	return c.SessionType == authn.LabUser && c.Has(session.PermissionTakeOver)
}

// mayEdit admits users and doctors who may edit reports. A session token cannot open another session.
func (c caller) mayEdit() error {
	switch {
	case c.grant != nil, !c.Has(session.PermissionEdit) && !c.Has(session.PermissionTakeOver):
		return errNotAllowed
	case c.author().ID == 0:
		return errNoAuthor
	}
	return nil
}

// author returns the caller as the author of a session. It returns the zero Author for callers other than lab users and
// doctors; the ids of support are from another table.
func (c caller) author() session.Author {
	if c.grant != nil {
		return c.grant.Author
	}
	a := c.Actor()
	if a.Kind != authn.ActorLabUser && a.Kind != authn.ActorDoctor {
		return session.Author{}
	}
	return session.Author{ID: a.ID, Name: a.Name, IsDoctor: a.Kind == authn.ActorDoctor}
}

// isAuthor reports whether the caller may receive the session's token.
func (c caller) isAuthor(s *session.Session) bool {
	if c.grant != nil {
		return c.grant.SessionID == s.ID
	}
	by := c.author()
	return by.ID != 0 && by.Is(s.Author)
}

// holder returns the grant of the caller's session token. It returns an error without a token of that session.
func (s *Server) holder(ctx context.Context, sessionID int64) (caller, session.Grant, error) {
	c, err := s.callerOf(ctx)
	if c.grant == nil {
		return c, session.Grant{}, errTokenRequired
	}
	if err != nil {
		return c, session.Grant{}, err
	}
	return c, *c.grant, c.grant.CheckSession(sessionID)
}
