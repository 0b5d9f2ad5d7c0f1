package reconcile

import (
	"context"
	"iter"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// Rows reads user_meta and compares it with its sources. Errors are faults.
type Rows interface {
	// Laboratories returns all that the database knows.
	Laboratories(ctx context.Context) ([]authn.LabScope, error)
	// Rows returns up to limit rows of a laboratory with ids above after, ascending.
	Rows(ctx context.Context, scope authn.LabScope, after int64, limit int) ([]projection.Row, error)
	// RowsByID returns the rows of patients of any laboratory; those without one are missing.
	RowsByID(ctx context.Context, userIDs []int64) ([]projection.Row, error)
	// SourceUserIDs returns up to limit ids of a laboratory's patients in the sources above after, ascending.
	SourceUserIDs(ctx context.Context, scope authn.LabScope, after int64, limit int) ([]int64, error)
	// Differences returns those of userIDs whose row is not what the sources say at this moment.
	Differences(ctx context.Context, userIDs []int64) ([]int64, error)
}

// Documents reads an index by its name or alias. Errors are faults.
type Documents interface {
	Refresh(ctx context.Context, target string) error
	// Scan yields the documents that speak of a laboratory by the order of the patients' ids.
	Scan(ctx context.Context, target string, lab int64) iter.Seq2[document.Entry, error]
	// Find returns documents by UserID and Route, as they are now.
	Find(ctx context.Context, target string, asked []document.Entry) ([]document.Entry, error)
	// Target tells how to write the index.
	Target(ctx context.Context, target string) (indexsync.Target, error)
	// Laboratories returns the laboratories that documents speak of, ascending.
	Laboratories(ctx context.Context, target string) ([]int64, error)
}

// IndexOnly returns rows for a comparison of an index with user_meta alone.
func IndexOnly(rows Rows) Rows { return indexOnly{rows} }

// reader lends its methods under another name than that of one of them.
type reader = Rows

type indexOnly struct{ reader }

func (indexOnly) SourceUserIDs(context.Context, authn.LabScope, int64, int) ([]int64, error) {
	return nil, nil
}

func (indexOnly) Differences(context.Context, []int64) ([]int64, error) { return nil, nil }

// Users computes rows again.
type Users interface {
	Recompute(ctx context.Context, targets []materialize.Target) (materialize.Summary, error)
}

// Writer writes to an index.
type Writer interface {
	Write(ctx context.Context, target string, ops []document.Op) ([]indexsync.Fate, error)
}

// Config says how patient a Reconciler is.
type Config struct {
	// Settle is how long a change may take through the whole pipeline: the pause between two looks.
	Settle time.Duration
	// Looks is how often a row that keeps changing is read before it is postponed.
	Looks int
}

// DefaultConfig returns what production uses.
func DefaultConfig() Config { return Config{Settle: 3 * time.Second, Looks: 4} }

// Deps are what a Reconciler works with.
type Deps struct {
	Rows      Rows
	Scope     func(labID int64) (authn.LabScope, error) // of a laboratory that only the index or an operator names
	Documents Documents
	Users     Users
	Writer    Writer
	Target    string // the alias or index to compare
	Config    Config
}

// Reconciler compares and repairs. Safe for concurrent use.
type Reconciler struct {
	d     Deps
	maker *document.Maker
}

// New returns a Reconciler.
func New(d Deps) *Reconciler {
	return &Reconciler{d: d, maker: document.NewMaker(document.RevVersions{})}
}

// judge returns who compares with the documents of the index as it is now: a swap may put one of another schema into
// its place.
func (r *Reconciler) judge(ctx context.Context) (judge, error) {
	target, err := r.d.Documents.Target(ctx, r.d.Target)
	return judge{r.maker.Of(target.Schema).Encoder()}, err
}

// Labs returns the scopes of all laboratories that the database or the index knows, ascending.
func (r *Reconciler) Labs(ctx context.Context) ([]authn.LabScope, error) {
	indexed, err := r.indexed(ctx)
	if err != nil {
		return nil, err
	}
	return r.labs(ctx, indexed)
}

// indexed returns the laboratories that the index knows; the engine goes through all documents for it.
func (r *Reconciler) indexed(ctx context.Context) ([]int64, error) {
	return r.d.Documents.Laboratories(ctx, r.d.Target)
}

// labs returns the laboratories that the database knows, and those of indexed.
func (r *Reconciler) labs(ctx context.Context, indexed []int64) ([]authn.LabScope, error) {
	known, err := r.d.Rows.Laboratories(ctx)
	if err != nil {
		return nil, err
	}
	return r.union(known, indexed), nil
}

// union leaves out ids that no laboratory has: a row of the sources with one must not keep all others from their turn.
func (r *Reconciler) union(known []authn.LabScope, indexed []int64) []authn.LabScope {
	has := map[int64]bool{}
	for _, scope := range known {
		has[scope.LabID()] = true
	}
	for _, lab := range indexed {
		if has[lab] {
			continue
		}
		if scope, err := r.d.Scope(lab); err == nil {
			known = append(known, scope)
		}
	}
	return known
}
