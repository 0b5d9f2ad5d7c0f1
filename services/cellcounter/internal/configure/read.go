package configure

import (
	"context"

	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

// Read returns what a test is counted with: the laboratory's mappings when it has some, otherwise the defaults.
func (c *Configurer) Read(ctx context.Context, testID int64, owner mapping.Owner) (View, error) {
	if owner.IsNobody() {
		return View{}, mapping.ErrNoTest
	}
	return c.store.Read(ctx, testID, owner)
}

// Cells lists the cells.
func (c *Configurer) Cells(ctx context.Context) ([]mapping.Cell, error) { return c.store.Cells(ctx) }
