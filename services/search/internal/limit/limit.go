package limit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/ratelimit"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

const window = time.Minute

// Counter counts attempts within a window. The limiters of package ratelimit are counters.
type Counter interface {
	Allow(ctx context.Context, key string, limit int, window time.Duration) (ratelimit.Decision, error)
}

// Deps are the dependencies of a Limit.
type Deps struct {
	Config  Config
	Counter Counter
	Watch   *Watch
	Metrics *Metrics
}

// Limit limits searches and reads of patients.
type Limit struct{ d Deps }

// New returns a limit with the dependencies d.
func New(d Deps) *Limit { return &Limit{d: d} }

// Admit counts a search of p and returns the effort that it may cost. If the limit is exceeded, it returns
// TooManyRequests with the time to wait.
func (l *Limit) Admit(ctx context.Context, p authn.Principal, lab authn.LabScope) (search.Effort, error) {
	mode := l.d.Watch.Mode()
	perMinute := l.d.Config.PerMinuteIn(mode)
	decision, err := l.d.Counter.Allow(ctx, subject(p, lab), perMinute, window)
	if err != nil {
		return 0, fmt.Errorf("admit search: %w", err)
	}
	l.d.Metrics.decided(mode, decision.Allowed)
	ratelimit.Tell(ctx, perMinute, window, decision)
	if !decision.Allowed {
		return 0, refused(mode, perMinute).WithRetryAfter(decision.RetryAfter)
	}
	return mode.Effort(), nil
}

// AdmitRead counts that p reads one patient. The limit is high enough for normal work, but stops a caller that reads
// all patients of a laboratory by number. If it is exceeded, the error is TooManyRequests with the time to wait.
func (l *Limit) AdmitRead(ctx context.Context, p authn.Principal, lab authn.LabScope) error {
	decision, err := l.d.Counter.Allow(ctx, "read:"+subject(p, lab), l.d.Config.ReadsPerMinute, window)
	if err != nil {
		return fmt.Errorf("admit reading a patient: %w", err)
	}
	ratelimit.Tell(ctx, l.d.Config.ReadsPerMinute, window, decision)
	if decision.Allowed {
		return nil
	}
	return apperr.Newf(apperr.TooManyRequests, "TOO_MANY_PATIENTS",
		"More than %d patients were opened in a minute. Wait a moment and open this one again.",
		l.d.Config.ReadsPerMinute).WithRetryAfter(decision.RetryAfter)
}

func refused(mode Mode, perMinute int) *apperr.Error {
	if mode == Normal {
		return apperr.Newf(apperr.TooManyRequests, "TOO_MANY_SEARCHES",
			"More than %d searches in a minute. Wait a moment and search again.", perMinute)
	}
	return apperr.Newf(apperr.TooManyRequests, "TOO_MANY_SEARCHES",
		"The search is under load and takes %d searches a minute. Wait a moment and search again.", perMinute)
}

// subject identifies a person within the laboratory, independent of the kind of credential: a session and a token of
// one person share a limit.
func subject(p authn.Principal, lab authn.LabScope) string {
	return strconv.FormatInt(lab.LabID(), 10) + ":" + actor(p)
}

func actor(p authn.Principal) string {
	named := func(kind string, id int64) string { return kind + ":" + strconv.FormatInt(id, 10) }
	switch {
	case p.Kind == authn.Service:
		return "service:" + p.Caller
	case p.SessionType == authn.Support:
		return named("support", p.LabUserID) + login(p)
	case p.LabUserID != 0:
		return named("lab_user", p.LabUserID)
	case p.DoctorID != 0:
		return named("doctor", p.DoctorID)
	case p.OrgID != 0:
		return named("organization", p.OrgID) + login(p)
	case p.CCID != 0:
		return named("collection_center", p.CCID) + login(p)
	}
	return "login" + login(p) // an instrument interface of the laboratory has no id
}

// login returns a hash of the user name. It distinguishes logins that share an id or have none, and does not reveal the
// name.
func login(p authn.Principal) string {
	const shown = 8
	sum := sha256.Sum256([]byte(p.Username))
	return ":" + hex.EncodeToString(sum[:shown])
}
