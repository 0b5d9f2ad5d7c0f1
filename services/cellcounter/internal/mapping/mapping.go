package mapping

import (
	"fmt"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// Parameter is a place in a test's report format.
type Parameter struct{ Index, Order int }

// String names the parameter in messages.
func (p Parameter) String() string { return fmt.Sprintf("index %d, order %d", p.Index, p.Order) }

// Mapping is one key of a scope.
type Mapping struct {
	Key       Key
	CellID    int64
	Parameter Parameter
	// IncludeInTotal false counts a cell outside the hundred per cent, like nucleated red cells.
	IncludeInTotal bool
}

// Row is a mapping as it is stored. ID is 0 for one that is not yet.
type Row struct {
	ID int64
	Mapping
}

// Cell is what can be counted.
type Cell struct {
	ID         int64
	Name       string
	Background string // #RRGGBB
	Foreground string // #RRGGBB
	DefaultKey string
	Disabled   bool
	// NucleatedRed reports that a white cell count is corrected by this cell.
	NucleatedRed bool
	CreatedAt    int64 // epoch seconds
	UpdatedAt    int64 // epoch seconds
}

// DefaultTarget is how many cells a count stops at when no one chose.
const DefaultTarget = 100

// ErrNoTest reports that there is no such test for this laboratory.
var ErrNoTest = apperr.New(apperr.NotFound, "TEST_NOT_FOUND", "There is no such test in this laboratory")
