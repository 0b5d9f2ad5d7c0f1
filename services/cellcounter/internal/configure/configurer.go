package configure

import (
	"context"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

// Store keeps mappings and cells. A test that the owner does not have is mapping.ErrNoTest.
type Store interface {
	// Mappings returns the owner's mappings of a test, or the defaults when it has none.
	Mappings(ctx context.Context, testID int64, owner mapping.Owner) (View, error)
	// Cells returns all cells by id.
	Cells(ctx context.Context) ([]mapping.Cell, error)
	// ChangeMappings loads the facts of a scope under its lock, calls decide and applies the decision, all or nothing. A
	// key or parameter that the database takes for another's is a Conflict. decide may be called more than once.
	ChangeMappings(ctx context.Context, testID int64, owner mapping.Owner,
		decide func(Facts) (Decision, error)) (Decision, error)
}

// View is what a test is counted with.
type View struct {
	Rows   []mapping.Row // by order and index
	OwnLab bool          // false: the defaults
	Target int
}

// Facts is everything that the change of a scope depends on.
type Facts struct {
	Rows     []mapping.Row               // the scope's own mappings
	Defaults []mapping.Row               // the default mappings of the test
	Formats  map[int64]mapping.Parameter // parameters of the test's report format that are in use, by id
	Cells    map[int64]mapping.Cell      // all cells, by id
}

// Decision is what a change does to a scope.
type Decision struct {
	Write      []mapping.Row // ID 0 is a new row; others are rewritten, and may exchange keys and parameters
	Delete     []mapping.Row
	Target     *int // nil: stays
	DropTarget bool // the target of the defaults applies again
	By         authn.Actor
	At         int64 // epoch seconds

	Rows              []mapping.Row // the whole scope afterwards
	Inserted, Updated int
}

// Observer counts the mappings that were changed.
type Observer interface {
	Saved(inserted, updated int)
	Deleted(n int)
}

// Configurer is the use case. Its methods may be called from several goroutines.
type Configurer struct {
	store    Store
	clock    clock.Clock
	observer Observer
}

// New returns the use case over store.
func New(s Store, c clock.Clock, o Observer) *Configurer { return &Configurer{s, c, o} }

// Read returns what a test is counted with: the laboratory's mappings when it has some, otherwise the defaults.
func (c *Configurer) Read(ctx context.Context, testID int64, owner mapping.Owner) (View, error) {
	if owner.IsNone() {
		return View{}, mapping.ErrNoTest
	}
	return c.store.Mappings(ctx, testID, owner)
}

// Cells returns all cells by id.
func (c *Configurer) Cells(ctx context.Context) ([]mapping.Cell, error) { return c.store.Cells(ctx) }
