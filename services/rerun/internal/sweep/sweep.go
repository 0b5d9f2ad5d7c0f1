package sweep

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Leader lets one process work at a time.
type Leader interface {
	// Lead runs work unless another process leads. The lock ends with the process.
	Lead(ctx context.Context, work func(context.Context) error) error
}

// Reports reads and locks reports.
type Reports interface {
	Laboratories(ctx context.Context) ([]int64, error)
	// OpenLaboratories returns those that have a report with an open rerun.
	OpenLaboratories(ctx context.Context) ([]int64, error)
	// Flags returns the flags of the reports that the laboratory has.
	Flags(ctx context.Context, scope authn.LabScope, reportIDs []int64) (map[int64]rerun.Flag, error)
	// OpenReports returns the flags of at most limit reports above after, the lowest ids, with an open rerun.
	OpenReports(ctx context.Context, scope authn.LabScope, after int64, limit int) (map[int64]rerun.Flag, error)
	// Lock runs work while it holds the row of the report, and commits. An unknown report is NotFound.
	Lock(ctx context.Context, scope authn.LabScope, reportID int64, work func(Locked) error) error
}

// Locked is a report whose row is held by the running transaction.
type Locked interface {
	Report() rerun.Report
	Ledger(ctx context.Context) (rerun.Ledger, error)
	// Archived returns the ids of the documents that the activity log holds.
	Archived(ctx context.Context) (map[string]bool, error)
	SetFlag(ctx context.Context, to rerun.Flag) error
	Log(ctx context.Context, entry activitylog.Entry) (int64, error)
}

// Documents reads the documents of reruns.
type Documents interface {
	Changes
	// Laboratories returns those that have documents of this service.
	Laboratories(ctx context.Context) ([]int64, error)
	// StaleReports returns at most limit reports above after, ascending, that have documents of this service older
	// than before.
	StaleReports(
		ctx context.Context, scope authn.LabScope, before time.Time, after int64, limit int,
	) ([]int64, error)
	OfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Record, error)
	ValuesOfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Value, error)
	OfReport(ctx context.Context, scope authn.LabScope, reportID int64) ([]rerun.Record, error)
	Values(ctx context.Context, scope authn.LabScope, reportID int64) ([]rerun.Value, error)
}

// Changes repairs documents; what is not there is not an error.
type Changes interface {
	Reopen(ctx context.Context, scope authn.LabScope, id string) error
	Delete(ctx context.Context, scope authn.LabScope, ids ...string) error
	DeleteValues(ctx context.Context, scope authn.LabScope, ids []string) error
}

// OpenSet is the cache hash of reports with an open rerun.
type OpenSet interface {
	Set(ctx context.Context, scope authn.LabScope, reportID int64, open bool) error
	Entries(ctx context.Context, scope authn.LabScope) ([]int64, error)
}

// Outcomes that are counted.
const (
	Uncommitted = "uncommitted_deleted" // a request whose transaction did not commit
	Archived    = "archived"            // a document of a closed rerun that no one had archived
	Deleted     = "archived_deleted"    // an archived document
	Completed   = "completed"           // a report that had all its values
	Reopened    = "reopened"            // a request that lost its slot
	Cached      = "cache_repaired"      // a cache entry
	Failed      = "failed"              // a report that is tried again in the next round
)

// Outcomes lists them.
func Outcomes() []string {
	return []string{Uncommitted, Archived, Deleted, Completed, Reopened, Cached, Failed}
}

// Counters counts outcomes.
type Counters interface {
	Swept(outcome string, n int)
}

// Config holds the pace of the sweeper.
type Config struct {
	Interval time.Duration `env:"INTERVAL" envDefault:"20s"`
	// Age is how old a document is before the sweeper looks at it: older than every deadline. Age and Interval
	// together are how long a crash is seen.
	Age time.Duration `env:"AGE" envDefault:"30s"`
}

// Validate refuses an age within which a request may still be under way.
func (c *Config) Validate() error {
	const longestDeadline = 20 * time.Second // of a call, with what follows its commit
	if c.Interval <= 0 || c.Age < longestDeadline {
		return errors.New("SWEEP_INTERVAL must be above zero and SWEEP_AGE at least 20s")
	}
	return nil
}

// Deps is what the sweeper works with.
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

// Sweeper repairs.
type Sweeper struct {
	d Deps
	// settled holds the records that were found in order under the lock; used by the one loop alone.
	settled map[string]bool
	walked  time.Time // when every laboratory was looked at last
}

// New returns a sweeper that does nothing until RunOnce.
func New(d Deps) *Sweeper { return &Sweeper{d: d, settled: map[string]bool{}} }

// walkEvery is how often laboratories are looked at that have neither an open rerun nor documents: all that can be
// wrong there is an entry of the cache.
const walkEvery = time.Hour

// laboratories returns where something may be out of order.
func (s *Sweeper) laboratories(ctx context.Context) ([]int64, error) {
	if now := s.d.Clock.Now(); s.walked.IsZero() || now.Sub(s.walked) >= walkEvery {
		all, err := s.d.Reports.Laboratories(ctx)
		if err == nil {
			s.walked = now
		}
		return all, err
	}
	open, err := s.d.Reports.OpenLaboratories(ctx)
	if err != nil {
		return nil, err
	}
	documented, err := s.d.Documents.Laboratories(ctx)
	return slices.Compact(slices.Sorted(slices.Values(append(open, documented...)))), err
}

// RunOnce repairs what it finds, if this process can be the leader. It goes from laboratory to laboratory, so that
// what it holds in memory is bounded, and one that fails does not stop the others.
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

// laboratory is a sweep of one laboratory.
type laboratory struct {
	*Sweeper
	scope authn.LabScope
	seen  map[string]bool // settled records that are still there
}

// laboratory acts as the platform itself.
func (s *Sweeper) laboratory(labID int64, seen map[string]bool) (*laboratory, error) {
	scope, err := authn.Principal{Kind: authn.Service}.Scope(labID)
	return &laboratory{s, scope, seen}, err
}
