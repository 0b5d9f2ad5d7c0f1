// Package sweep repairs what crashes leave behind: it closes sessions that have expired, deletes files of uploads that
// were never linked, copies with an expired link, and old idempotency keys. It also deletes the saves that the
// retention does not keep.
package sweep

import (
	"context"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

// Due is a session, given by its report, that may have to be closed.
type Due struct{ LabID, ReportID int64 }

// Store finds leftovers across all laboratories.
type Store interface {
	upload.Discards
	// Lead calls work unless another process is the leader.
	Lead(ctx context.Context, work func(context.Context) error) error
	// Expired returns at most limit reports whose session expired before now and was not closed.
	Expired(ctx context.Context, now time.Time, limit int) ([]Due, error)
	// CloseOrphan closes the expired session of a deleted report. It returns false if there is none.
	CloseOrphan(ctx context.Context, scope authn.LabScope, reportID int64, now time.Time) (bool, error)
	// Stale returns at most limit uploads, with ids above after and in their order, that showed no progress since before
	// and were not linked.
	Stale(ctx context.Context, before time.Time, after int64, limit int) ([]session.Upload, error)
	// Outdated returns at most limit saves, with ids above after and in their order, that the retention does not keep and
	// no report links.
	Outdated(ctx context.Context, r session.Retention, now time.Time, after int64, limit int) ([]Outdated, error)
	// Retire deletes a save that its report does not link, and records its files as those of an abandoned upload unless
	// another save has them. It returns false if the save has to stay.
	Retire(ctx context.Context, scope authn.LabScope, o Outdated, files session.Upload) (bool, error)
	// ForgetKeys deletes idempotency keys that expired before now.
	ForgetKeys(ctx context.Context, now time.Time) (int64, error)
}

// Outdated is a save to delete.
type Outdated struct {
	LabID, ReportID int64
	Revision        session.Revision
}

// Files deletes objects and resolves URLs to keys.
type Files interface {
	upload.Eraser
	Parse(url string) (string, error)
}

// Sessions closes expired sessions.
type Sessions interface {
	CloseExpired(ctx context.Context, scope authn.LabScope, reportID int64) error
}

// Outcomes, as metrics name them.
const (
	Closed  = "session_closed"
	Orphan  = "orphan_closed" // a session whose report was deleted
	Deleted = "upload_deleted"
	Copies  = "copy_deleted" // the copy with which a session began, after the link to it has expired
	Keys    = "key_forgotten"
	Retired = "revision_retired"
	Failed  = "failed"
)

// Outcomes returns all outcomes.
func Outcomes() []string { return []string{Closed, Orphan, Deleted, Copies, Keys, Retired, Failed} }

// Counters counts repairs by outcome.
type Counters interface {
	Swept(outcome string, n int)
}

// Config holds the intervals of the sweeper.
type Config struct {
	Interval time.Duration `env:"INTERVAL" envDefault:"20s"`
	// UploadAge is the time without progress after which an upload counts as abandoned.
	UploadAge time.Duration `env:"UPLOAD_AGE" envDefault:"5m"`
}

// Validate rejects an UploadAge within which an upload may still be in progress, and an interval that is not positive.
func (c *Config) Validate() error {
	const signOfLife = time.Minute // uploads record progress every 30 seconds
	if c.Interval <= 0 || c.UploadAge < signOfLife {
		return errors.New("SWEEP_INTERVAL must be above zero and SWEEP_UPLOAD_AGE at least 1m")
	}
	return nil
}

// Deps are the dependencies of the sweeper.
type Deps struct {
	Config   Config
	Store    Store
	Sessions Sessions
	Files    Files
	// Retention defines which saves are kept; the zero Retention keeps all.
	Retention session.Retention
	Clock     clock.Clock
	Counters  Counters
}

// Sweeper finds and repairs leftovers. RunOnce and RetireOnce make one pass.
type Sweeper struct{ d Deps }

// New returns a sweeper with the dependencies d.
func New(d Deps) *Sweeper { return &Sweeper{d} }

const page = 200

// RunOnce repairs leftovers if this process is the leader. A failure does not stop the other repairs.
func (s *Sweeper) RunOnce(ctx context.Context) error {
	return s.d.Store.Lead(ctx, func(ctx context.Context) error {
		return errors.Join(s.sessions(ctx), s.uploads(ctx), s.keys(ctx))
	})
}

func (s *Sweeper) sessions(ctx context.Context) error {
	due, err := s.d.Store.Expired(ctx, s.d.Clock.Now(), page)
	problems := []error{err}
	for _, d := range due {
		outcome, err := s.close(ctx, d)
		problems = append(problems, s.count(outcome, err))
	}
	return errors.Join(problems...)
}

// close closes one session. If its report was deleted, there is no row to lock and no reader to notify.
func (s *Sweeper) close(ctx context.Context, d Due) (outcome string, err error) {
	scope, err := scopeOf(d.LabID)
	if err != nil {
		return Closed, err
	}
	if err = s.d.Sessions.CloseExpired(ctx, scope, d.ReportID); !errors.Is(err, session.ErrNoReport) {
		return Closed, err
	}
	_, err = s.d.Store.CloseOrphan(ctx, scope, d.ReportID, s.d.Clock.Now())
	return Orphan, err
}

func (s *Sweeper) uploads(ctx context.Context) error {
	var problems []error
	for after := int64(0); ; {
		stale, err := s.d.Store.Stale(ctx, s.d.Clock.Now().Add(-s.d.Config.UploadAge), after, page)
		for _, u := range stale {
			outcome := Deleted
			if u.Number == 0 {
				outcome = Copies
			}
			problems = append(problems, s.count(outcome, s.delete(ctx, u)))
			after = u.ID
		}
		if err != nil || len(stale) < page {
			return errors.Join(append(problems, err)...)
		}
	}
}

func (s *Sweeper) delete(ctx context.Context, u session.Upload) error {
	scope, err := scopeOf(u.LabID)
	if err != nil {
		return err
	}
	_, err = upload.Discard(ctx, s.d.Store, s.d.Files, scope, u)
	return err
}

func (s *Sweeper) keys(ctx context.Context) error {
	n, err := s.d.Store.ForgetKeys(ctx, s.d.Clock.Now())
	s.d.Counters.Swept(Keys, int(n))
	return err
}

func (s *Sweeper) count(outcome string, err error) error {
	if err != nil {
		outcome = Failed
	}
	s.d.Counters.Swept(outcome, 1)
	return err
}

// scopeOf returns the scope of a laboratory for the service itself.
func scopeOf(labID int64) (authn.LabScope, error) {
	return authn.Principal{Kind: authn.Service}.Scope(labID)
}
