package mapping

import (
	"fmt"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// Parameter identifies a parameter by its position in a test's report format.
type Parameter struct{ Index, Order int }

// String formats the parameter for messages.
func (p Parameter) String() string { return fmt.Sprintf("index %d, order %d", p.Index, p.Order) }

// Mapping assigns a cell and a parameter to a key.
type Mapping struct {
	Key       Key
	CellID    int64
	Parameter Parameter
	// IncludeInTotal is false for a cell that is counted outside the 100 %, such as a nucleated red cell.
	IncludeInTotal bool
}

// Row is a stored mapping. ID is 0 if it is not stored yet.
type Row struct {
	ID int64
	Mapping
}

// Cell is a kind of cell that can be counted.
type Cell struct {
	ID         int64
	Name       string
	Background string // #RRGGBB
	Foreground string // #RRGGBB
	DefaultKey string
	Disabled   bool
	// NucleatedRed is true for nucleated red cells, which correct the white cell count.
	NucleatedRed bool
	CreatedAt    int64 // epoch seconds
	UpdatedAt    int64 // epoch seconds
}

// ByID returns a map from id to cell.
func ByID(cells []Cell) map[int64]Cell {
	found := make(map[int64]Cell, len(cells))
	for _, c := range cells {
		found[c.ID] = c
	}
	return found
}

// InTotal returns the default of whether the cell is counted in the total. Nucleated red cells are not white cells, and
// are reported per 100 white cells (CLSI H20-A2, 2007, 8.4).
func (c Cell) InTotal() bool { return !c.NucleatedRed }

// InTotalNote is the warning that is shown if nucleated red cells are counted in the total.
const InTotalNote = "nucleated red cells are in the total: percentages then include them, and the white cell count is not" +
	" corrected for them; leave include_in_total out to count them separately"

// DefaultTarget is the number of cells at which a count ends, unless the scope has another target.
const DefaultTarget = 100

// ErrNoTest is returned for a test that does not exist in the laboratory.
var ErrNoTest = apperr.New(apperr.NotFound, "TEST_NOT_FOUND", "There is no such test in this laboratory")
