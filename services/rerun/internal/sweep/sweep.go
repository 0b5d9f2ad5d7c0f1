package sweep

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/activitylog"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Leader lets one process work at a time.
type Leader interface {
	// Lead runs work unless another process leads. The lock ends with the process.
	Lead(ctx context.Context, work func(context.Context) error) error
}

// OpenReport is a report with an open rerun.
type OpenReport struct {
	ID    int64
	LabID int64
	Flag  rerun.Flag
}

// Reports reads and locks reports of all laboratories.
type Reports interface {
	OpenReports(ctx context.Context) ([]OpenReport, error)
	Laboratories(ctx context.Context) ([]int64, error)
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

// Documents reads the documents of reruns. Stale ones are this service's own, of all laboratories.
type Documents interface {
	Changes
	StaleRecords(ctx context.Context, before time.Time) ([]rerun.Record, error)
	StaleValues(ctx context.Context, before time.Time) ([]rerun.Value, error)
	OfReport(ctx context.Context, scope authn.LabScope, reportID int64) ([]rerun.Record, error)
	Values(ctx context.Context, scope authn.LabScope, reportID int64) ([]rerun.Value, error)
}

// Changes repairs documents; what is not there is no error.
type Changes interface {
	Close(ctx context.Context, scope authn.LabScope, id string) error
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
	Archived    = "archived"            // a document of a closed rerun that nobody had archived
	Deleted     = "archived_deleted"    // an archived document
	Completed   = "completed"           // a report that had all its values
	Reopened    = "reopened"            // a request that lost its slot
	Released    = "released"            // a fulfilled request that still had it
	Cached      = "cache_repaired"      // a cache entry
	Failed      = "failed"              // a report that is tried again in the next round
)

// Outcomes lists them.
func Outcomes() []string {
	return []string{Uncommitted, Archived, Deleted, Completed, Reopened, Released, Cached, Failed}
}

// Counters counts outcomes.
type Counters interface {
	Swept(outcome string, n int)
}

// Config holds the pace of the sweeper.
type Config struct {
	Interval time.Duration `env:"INTERVAL" envDefault:"1m"`
	// Age is how old a document is before the sweeper looks at it: older than every deadline.
	Age time.Duration `env:"AGE" envDefault:"5m"`
}

// Validate refuses an age within which a request may still be under way.
func (c *Config) Validate() error {
	const longestDeadline = time.Minute
	if c.Interval <= 0 || c.Age < longestDeadline {
		return errors.New("SWEEP_INTERVAL must be above zero and SWEEP_AGE at least 1m")
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
}

// New returns a sweeper that does nothing until Run or RunOnce.
func New(d Deps) *Sweeper { return &Sweeper{d: d, settled: map[string]bool{}} }

// Run sweeps until ctx ends. Errors are logged; they never end the loop.
func (s *Sweeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(s.d.Config.Interval)
	defer ticker.Stop()
	for {
		if err := s.RunOnce(ctx); err != nil && ctx.Err() == nil {
			s.d.Log.Error("rerun sweeper", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// RunOnce repairs what it finds, if this process can be the leader. A report that fails does not stop the others.
func (s *Sweeper) RunOnce(ctx context.Context) error {
	return s.d.Leader.Lead(ctx, func(ctx context.Context) error {
		reports, err := s.d.Reports.OpenReports(ctx)
		if err != nil {
			return err
		}
		open := make(map[int64]OpenReport, len(reports))
		for _, r := range reports {
			open[r.ID] = r
		}
		return errors.Join(s.documents(ctx, open), s.cache(ctx, open))
	})
}

// scopeOf is the scope of the platform itself for one laboratory.
func scopeOf(labID int64) (authn.LabScope, error) {
	return authn.Principal{Kind: authn.Service}.Scope(labID)
}
