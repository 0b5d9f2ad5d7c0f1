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
	Laboratories(ctx context.Context) ([]authn.LabScope, error)
	// Rows returns up to limit rows of a laboratory with ids above after, in ascending order.
	Rows(ctx context.Context, scope authn.LabScope, after int64, limit int) ([]projection.Row, error)
	// RowsByID returns the rows of patients of any laboratory; patients without a row are left out.
	RowsByID(ctx context.Context, userIDs []int64) ([]projection.Row, error)
	// SourceUserIDs returns up to limit ids of a laboratory's patients in the sources, above after and in ascending order.
	SourceUserIDs(ctx context.Context, scope authn.LabScope, after int64, limit int) ([]int64, error)
	// Differences returns the ids in userIDs whose row currently differs from its sources.
	Differences(ctx context.Context, userIDs []int64) ([]int64, error)
}

// Documents reads an index by its name or alias. Errors are faults.
type Documents interface {
	Refresh(ctx context.Context, target string) error
	// Scan yields the documents with a laboratory, ordered by patient id.
	Scan(ctx context.Context, target string, lab int64) iter.Seq2[document.Entry, error]
	// Find returns the current documents by UserID and Route.
	Find(ctx context.Context, target string, asked []document.Entry) ([]document.Entry, error)
	// Target returns the write target for the index.
	Target(ctx context.Context, target string) (indexsync.Target, error)
	// Laboratories returns the laboratories in the documents, in ascending order.
	Laboratories(ctx context.Context, target string) ([]int64, error)
}

// IndexOnly returns rows for a comparison of an index with user_meta that does not read the sources.
func IndexOnly(rows Rows) Rows { return indexOnly{rows} }

// reader is an alias of Rows, which has a method of the same name and thus cannot be embedded under its own name.
type reader = Rows

type indexOnly struct{ reader }

func (indexOnly) SourceUserIDs(context.Context, authn.LabScope, int64, int) ([]int64, error) {
	return nil, nil
}

func (indexOnly) Differences(context.Context, []int64) ([]int64, error) { return nil, nil }

// Users recomputes rows of user_meta.
type Users interface {
	Recompute(ctx context.Context, targets []materialize.Target) (materialize.Summary, error)
}

// Writer sends operations to an index. *indexsync.Writer is one.
type Writer interface {
	Write(ctx context.Context, target string, ops []document.Op) ([]indexsync.Fate, error)
}

// Config holds how long a Reconciler waits for changes in the pipeline.
type Config struct {
	// Settle is the pause between two reads of a suspect: the maximum time that a change may need to pass the pipeline.
	Settle time.Duration
	// Looks is how often a row that keeps changing is read before it counts as unsettled.
	Looks int
}

// DefaultConfig returns the values for production.
func DefaultConfig() Config { return Config{Settle: 3 * time.Second, Looks: 4} }

// Deps are the dependencies of a Reconciler.
type Deps struct {
	Rows      Rows
	Scope     func(labID int64) (authn.LabScope, error) // for ids from the index or an operator
	Documents Documents
	Users     Users
	Writer    Writer
	Target    string // alias or index to compare
	Config    Config
}

// Reconciler compares a laboratory's sources, user_meta and index, and repairs differences. It is safe for concurrent
// use.
type Reconciler struct {
	d     Deps
	maker *document.Maker
}

// New returns a Reconciler for d.Target.
func New(d Deps) *Reconciler {
	return &Reconciler{d: d, maker: document.NewMaker(document.RevVersions{})}
}

// judge returns a judge for the schema of the current index, which a swap may have changed.
func (r *Reconciler) judge(ctx context.Context) (judge, error) {
	target, err := r.d.Documents.Target(ctx, r.d.Target)
	return judge{r.maker.Of(target.Schema).Encoder()}, err
}

// Labs returns the scopes of all laboratories in the database or the index.
func (r *Reconciler) Labs(ctx context.Context) ([]authn.LabScope, error) {
	indexed, err := r.indexed(ctx)
	if err != nil {
		return nil, err
	}
	return r.labs(ctx, indexed)
}

// indexed returns the laboratories in the index, for which the engine has to read all documents.
func (r *Reconciler) indexed(ctx context.Context) ([]int64, error) {
	return r.d.Documents.Laboratories(ctx, r.d.Target)
}

// labs returns the laboratories of the database and those in indexed.
func (r *Reconciler) labs(ctx context.Context, indexed []int64) ([]authn.LabScope, error) {
	known, err := r.d.Rows.Laboratories(ctx)
	if err != nil {
		return nil, err
	}
	return r.union(known, indexed), nil
}

// union adds the laboratories in indexed to the known ones. Invalid ids are skipped, so that one wrong row in the
// sources does not stop the comparison of all laboratories.
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
