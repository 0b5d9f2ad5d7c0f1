package configure

import (
	"context"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

// Observer counts the mappings that were written.
type Observer interface {
	Saved(inserted, updated int)
	// Deleted is told of mappings that were taken away.
	Deleted(n int)
}

// Configurer is the use case. Its methods may be called from several goroutines.
type Configurer struct {
	store    Store
	observer Observer
}

// New returns the use case over store.
func New(store Store, observer Observer) *Configurer { return &Configurer{store, observer} }

// Store keeps mappings and cells.
type Store interface {
	// Read returns the owner's mappings of a test when it has some, else the defaults. It returns mapping.ErrNoTest for a
	// test that the laboratory does not have.
	Read(ctx context.Context, testID int64, owner mapping.Owner) (View, error)
	// Cells lists all cells by id.
	Cells(ctx context.Context) ([]mapping.Cell, error)
	// Lock runs work while it is the only writer of the owner's mappings and commits what it did, unless it returns an
	// error. Work may run more than once.
	Lock(ctx context.Context, testID int64, owner mapping.Owner, work func(Locked) error) error
}

// Locked is a scope that no one else writes.
type Locked interface {
	// Rows returns the scope's own mappings.
	Rows(ctx context.Context) ([]mapping.Row, error)
	// Defaults returns the default mappings of the test.
	Defaults(ctx context.Context) ([]mapping.Row, error)
	// Formats returns the parameters of the test's report format that are in use, by their id.
	Formats(ctx context.Context) (map[int64]mapping.Parameter, error)
	// Cells returns the cells with these ids; unknown ones are absent.
	Cells(ctx context.Context, ids []int64) (map[int64]mapping.Cell, error)
	// Apply carries out the plan. A key or parameter that the database takes for another's is a Conflict.
	Apply(ctx context.Context, p mapping.Plan, by authn.Actor) error
	// Delete removes mappings of the scope.
	Delete(ctx context.Context, ids []int64) error
	// Forget takes the scope's target away: the defaults' counts again.
	Forget(ctx context.Context) error
	// SetTarget sets at how many cells a count stops.
	SetTarget(ctx context.Context, n int) error
}

// View is what a test is counted with.
type View struct {
	Rows   []mapping.Row // by order and index
	OwnLab bool          // false: the defaults
	Target int
}
