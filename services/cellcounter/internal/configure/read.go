package configure

import (
	"context"

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

// Read returns what a test is counted with: the laboratory's mappings when it has some, otherwise the defaults.
func (c *Configurer) Read(ctx context.Context, testID int64, owner mapping.Owner) (View, error) {
	if owner.IsNobody() {
		return View{}, mapping.ErrNoTest
	}
	return c.store.Read(ctx, testID, owner)
}

// Cells lists the cells.
func (c *Configurer) Cells(ctx context.Context) ([]mapping.Cell, error) { return c.store.Cells(ctx) }
