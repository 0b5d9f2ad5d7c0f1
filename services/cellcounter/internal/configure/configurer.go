package configure

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

// Store reads and changes mappings. Methods return mapping.ErrNoTest for a test that the owner does not have.
type Store interface {
	// Mappings returns the owner's mappings of a test, or the defaults if the owner has none.
	Mappings(ctx context.Context, testID int64, owner mapping.Owner) (View, error)
	// Cells returns all cells by id.
	Cells(ctx context.Context) ([]mapping.Cell, error)
	// ChangeMappings loads the facts of a scope under its lock, calls decide, and applies the decision, all or nothing. It
	// returns a Conflict if the database considers a key or parameter equal to an existing one. decide may be called more
	// than once.
	ChangeMappings(ctx context.Context, testID int64, owner mapping.Owner,
		decide func(Facts) (Decision, error)) (Decision, error)
	// Tests returns at most limit tests whose names contain name. Tests with mapped keys are first.
	Tests(ctx context.Context, owner mapping.Owner, name string, limit int) ([]Test, error)
	// Parameters returns the name of a test and the active parameters of its report, in their order.
	Parameters(ctx context.Context, testID int64, owner mapping.Owner) (name string, list []Format, err error)
}

// View holds the mappings in effect for a test.
type View struct {
	Rows   []mapping.Row // sorted by order, then index
	OwnLab bool          // false if the rows are the defaults
	Target int
}

// Facts holds all inputs of a change of a scope.
type Facts struct {
	Rows     []mapping.Row               // the scope's own mappings
	Defaults []mapping.Row               // the default mappings of the test
	Formats  map[int64]mapping.Parameter // active parameters of the test's report format, by id
	Cells    map[int64]mapping.Cell      // all cells, by id
}

// Decision holds the changes to make in a scope.
type Decision struct {
	Write      []mapping.Row // rows with ID 0 are new; other rows are updated and may exchange keys and parameters
	Delete     []mapping.Row
	Target     *int // nil: no change
	DropTarget bool // remove the scope's target, so that the default target applies
	By         authn.Actor
	At         int64 // epoch seconds

	Rows              []mapping.Row // all rows of the scope after the change
	Inserted, Updated int
	Warnings          []apperr.Field // warnings about accepted elements
}

// Observer counts the mappings that were changed.
type Observer interface {
	Saved(inserted, updated int)
	Deleted(n int)
}

// Configurer reads and changes mappings. Its methods may be called from several goroutines.
type Configurer struct {
	store    Store
	clock    clock.Clock
	observer Observer
}

// New returns a use case over store.
func New(s Store, c clock.Clock, o Observer) *Configurer { return &Configurer{s, c, o} }

// Read returns the mappings in effect for a test: those of the laboratory if it has any, otherwise the defaults.
func (c *Configurer) Read(ctx context.Context, testID int64, owner mapping.Owner) (View, error) {
	if owner.IsNone() {
		return View{}, mapping.ErrNoTest
	}
	return c.store.Mappings(ctx, testID, owner)
}

// Cells returns all cells by id.
func (c *Configurer) Cells(ctx context.Context) ([]mapping.Cell, error) { return c.store.Cells(ctx) }
