package sweep

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Leader ensures that one process works at a time.
type Leader interface {
	// Lead calls work unless another process is the leader. The lock ends with the process.
	Lead(ctx context.Context, work func(context.Context) error) error
}

// State is the state of a report read without a lock.
type State struct {
	Flag        rerun.Flag
	Unconfirmed rerun.Unconfirmed
}

// Reports reads and changes reports.
type Reports interface {
	// Laboratories returns all laboratories, or only laboratories with an open rerun.
	Laboratories(ctx context.Context, open bool) ([]int64, error)
	// States returns the states of those reports that the laboratory has.
	States(ctx context.Context, scope authn.LabScope, reportIDs []int64) (map[int64]State, error)
	// OpenReports returns at most limit reports with an open rerun, with the lowest ids above after.
	OpenReports(ctx context.Context, scope authn.LabScope, after int64, limit int) (map[int64]State, error)
	// Change locks the report, reads the facts, calls decide, applies its decision and commits. It returns NotFound for an
	// unknown report.
	Change(ctx context.Context, scope authn.LabScope, reportID int64, wants rerun.Wants,
		decide func(rerun.Facts) (rerun.Change, error)) error
	// Forget deletes the stored announcements of reports that have had no unconfirmed value since before.
	Forget(ctx context.Context, before time.Time) error
}

// Documents reads and repairs the documents of reruns. Missing documents are ignored.
type Documents interface {
	// Laboratories returns the laboratories with documents of this service.
	Laboratories(ctx context.Context) ([]int64, error)
	// StaleReports returns at most limit reports, with ids above after and in ascending order, that have documents of this
	// service older than before.
	StaleReports(
		ctx context.Context, scope authn.LabScope, before time.Time, after int64, limit int,
	) ([]int64, error)
	OfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Record, error)
	ValuesOfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Value, error)
	Write(ctx context.Context, scope authn.LabScope, w rerun.Writes) error
}

// OpenSet is the cached set of reports with an open rerun.
type OpenSet interface {
	Set(ctx context.Context, scope authn.LabScope, reportID int64, open bool) error
	Entries(ctx context.Context, scope authn.LabScope) ([]int64, error)
}

// Outcomes, as metrics name them.
const (
	Uncommitted = "uncommitted_deleted" // a request whose transaction did not commit
	Archived    = "archived"            // a document of a closed rerun that was not archived
	Deleted     = "archived_deleted"    // an archived document
	Completed   = "completed"           // a report whose rerun had all its values
	Reopened    = "reopened"            // a request that lost its slot
	Announced   = "announced"           // unconfirmed values that were not announced to the callout service
	Cached      = "cache_repaired"      // a cache entry
	Failed      = "failed"              // a report that is retried in the next pass
)

// Outcomes returns all outcomes.
func Outcomes() []string {
	return []string{Uncommitted, Archived, Deleted, Completed, Reopened, Announced, Cached, Failed}
}

// Counters counts repairs by outcome.
type Counters interface {
	Swept(outcome string, n int)
}

// Config holds the settings of the sweeper.
type Config struct {
	Interval time.Duration `env:"INTERVAL" envDefault:"20s"`
	// Age is the minimum age of a document that the sweeper repairs; it exceeds every deadline. The effect of a crash
	// lasts at most Age and Interval together.
	Age time.Duration `env:"AGE" envDefault:"30s"`
}

// Validate rejects an age within which a request may still be running, and an interval that is not positive.
func (c *Config) Validate() error {
	const longestDeadline = 20 * time.Second // of a call with the tasks after its commit
	if c.Interval <= 0 || c.Age < longestDeadline {
		return errors.New("SWEEP_INTERVAL must be above zero and SWEEP_AGE at least 20s")
	}
	return nil
}

// Deps holds the dependencies of the sweeper.
type Deps struct {
	Config    Config
	Leader    Leader
	Reports   Reports
	Documents Documents
	OpenSet   OpenSet
	Clock     clock.Clock
	Log       *slog.Logger
	Counters  Counters
}

// Sweeper repairs the effects of crashes. RunOnce makes one pass.
type Sweeper struct {
	d Deps
	// settled holds the records that needed no repair when they were checked under the lock. Only RunOnce uses it.
	settled  map[string]bool
	resynced time.Time // time of the last check of all laboratories
}

// New returns a sweeper that does nothing until RunOnce.
func New(d Deps) *Sweeper { return &Sweeper{d: d, settled: map[string]bool{}} }

// resyncEvery is the interval of checks of laboratories with neither an open rerun nor documents. Only a cache entry
// can be wrong there.
const resyncEvery = time.Hour

// laboratories returns the laboratories in which something may need a repair; every resyncEvery, it returns all and
// forgets old announcements.
func (s *Sweeper) laboratories(ctx context.Context) ([]int64, error) {
	if now := s.d.Clock.Now(); s.resynced.IsZero() || now.Sub(s.resynced) >= resyncEvery {
		all, err := s.d.Reports.Laboratories(ctx, false)
		if err == nil {
			s.resynced = now
			err = s.d.Reports.Forget(ctx, now.Add(-rerun.RememberFor))
		}
		return all, err
	}
	open, err := s.d.Reports.Laboratories(ctx, true)
	if err != nil {
		return nil, err
	}
	documented, err := s.d.Documents.Laboratories(ctx)
	return slices.Compact(slices.Sorted(slices.Values(append(open, documented...)))), err
}

// RunOnce makes one pass of repairs if this process is the leader. It handles one laboratory at a time to limit memory.
// An error in one laboratory does not stop the others.
func (s *Sweeper) RunOnce(ctx context.Context) error {
	return s.d.Leader.Lead(ctx, func(ctx context.Context) error {
		laboratories, err := s.laboratories(ctx)
		if err != nil {
			return err
		}
		var problems []error
		seen := make(map[string]bool, len(s.settled))
		for _, labID := range laboratories {
			if ctx.Err() != nil {
				return errors.Join(append(problems, ctx.Err())...)
			}
			l, err := s.laboratory(labID, seen)
			if err != nil {
				return err
			}
			problems = append(problems, l.documents(ctx), l.cache(ctx))
		}
		s.settled = seen
		return errors.Join(problems...)
	})
}

// laboratory holds the state of a sweep of one laboratory.
type laboratory struct {
	*Sweeper
	scope authn.LabScope
	seen  map[string]bool // settled records that still exist
}

// laboratory returns the sweep of a laboratory, in the scope of the service itself.
func (s *Sweeper) laboratory(labID int64, seen map[string]bool) (*laboratory, error) {
	scope, err := authn.Principal{Kind: authn.Service}.Scope(labID)
	return &laboratory{s, scope, seen}, err
}
