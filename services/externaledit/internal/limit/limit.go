// Package limit enforces the documented rate limits of external editing. They are exact while Redis is available: in
// any minute, all replicas together admit at most the limit. Otherwise each replica counts for itself.
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

// Documented limits per minute.
const (
	creations  = 10  // per user
	retrievals = 60  // per user
	lists      = 60  // per user
	uploads    = 5   // per session
	beats      = 120 // heartbeats per session, each a transaction on the report
	window     = time.Minute
)

// Limits counts requests and rejects those beyond a limit.
type Limits struct{ limiter ratelimit.Limiter }

// New returns limits that use limiter.
func New(limiter ratelimit.Limiter) Limits { return Limits{limiter} }

// Create counts a request to open a session.
func (l Limits) Create(ctx context.Context, p authn.Principal) error {
	return l.allow(ctx, "create:"+user(p), creations, "sessions were asked for")
}

// Retrieve counts a read of a session or of the list of templates.
func (l Limits) Retrieve(ctx context.Context, p authn.Principal) error {
	return l.allow(ctx, "get:"+user(p), retrievals, "requests for sessions and templates were made")
}

// List counts a read of revisions or of held reports. Reads of sessions are counted separately.
func (l Limits) List(ctx context.Context, p authn.Principal) error {
	return l.allow(ctx, "list:"+user(p), lists, "lists were asked for")
}

// Upload counts an upload to a session.
func (l Limits) Upload(ctx context.Context, sessionID int64) error {
	return l.allow(ctx, "upload:"+strconv.FormatInt(sessionID, 10), uploads, "uploads were made to this session")
}

// Beat counts a heartbeat of a session.
func (l Limits) Beat(ctx context.Context, sessionID int64) error {
	return l.allow(ctx, "beat:"+strconv.FormatInt(sessionID, 10), beats, "signs of life were given for this session")
}

// user identifies a user in keys. It includes the kind of login, because doctors and lab users may have equal ids.
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
