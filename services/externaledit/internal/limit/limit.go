// Package limit owns the documented rate limits of external editing. They are exact: in no minute more than the limit
// pass, over all replicas together.
package limit

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/ratelimit"
)

// The documented limits in any minute.
const (
	creations  = 10  // of a user
	retrievals = 60  // of a user
	lists      = 60  // of a user
	uploads    = 5   // of a session
	beats      = 120 // signs of life of a session, each a transaction on its report
	window     = time.Minute
)

// Limits counts attempts.
type Limits struct{ limiter ratelimit.Limiter }

// New returns the limits that limiter keeps.
func New(limiter ratelimit.Limiter) Limits { return Limits{limiter} }

// Create counts a request to open a session.
func (l Limits) Create(ctx context.Context, p authn.Principal) error {
	return l.allow(ctx, "create:"+user(p), creations, "sessions were asked for")
}

// Retrieve counts a read of a session, or at the templates that one may begin with.
func (l Limits) Retrieve(ctx context.Context, p authn.Principal) error {
	return l.allow(ctx, "get:"+user(p), retrievals, "requests for sessions and templates were made")
}

// List counts a read of revisions or of held reports apart from reads of sessions.
func (l Limits) List(ctx context.Context, p authn.Principal) error {
	return l.allow(ctx, "list:"+user(p), lists, "lists were asked for")
}

// Upload counts an upload to a session.
func (l Limits) Upload(ctx context.Context, sessionID int64) error {
	return l.allow(ctx, "upload:"+strconv.FormatInt(sessionID, 10), uploads, "uploads were made to this session")
}

// Beat counts a sign of life of a session.
func (l Limits) Beat(ctx context.Context, sessionID int64) error {
	return l.allow(ctx, "beat:"+strconv.FormatInt(sessionID, 10), beats, "signs of life were given for this session")
}

// user tells users of all kinds of logins apart: ids of doctors and laboratory users are counted separately.
func user(p authn.Principal) string {
	return fmt.Sprintf("%s:%d:%d:%d:%d:%s", p.SessionType, p.LabID, p.LabUserID, p.DoctorID, p.OrgID, p.Caller)
}

func (l Limits) allow(ctx context.Context, key string, limit int, what string) error {
	decision, err := l.limiter.Allow(ctx, key, limit, window)
	if err != nil {
		return fmt.Errorf("count attempt: %w", err)
	}
	ratelimit.Tell(ctx, limit, window, decision)
	if decision.Allowed {
		return nil
	}
	seconds := int64((decision.RetryAfter + time.Second - 1) / time.Second)
	return apperr.Newf(apperr.TooManyRequests, "RATE_LIMITED",
		"Too many %s; at most %d a minute are allowed. Try again in %d seconds.",
		what, limit, seconds).WithRetryAfter(decision.RetryAfter)
}
