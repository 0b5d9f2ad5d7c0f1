package counting

import (
	"cmp"
	"math"
	"slices"
)

// Tally is the count of one kind of cell.
type Tally struct {
	CellID int64
	Count  int
	// InTotal is false for a cell that does not count in the 100 %.
	InTotal bool
	// NucleatedRed is true for nucleated red cells, which instruments count as white cells.
	NucleatedRed bool
}

// Share is one cell's part of a differential.
type Share struct {
	CellID  int64
	Count   int
	InTotal bool
	// Percent is in units of 10^-decimals per cent. The shares of the cells in the total add up to exactly 100 %. For
	// other cells, it is the number per 100 cells of the total, which may exceed 100.
	Percent int
	// Absolute is the cell's concentration in the unit of the white cell count; NaN without one.
	Absolute float64
}

// Differential is the result of a count.
type Differential struct {
	Total  int // number of cells in the total
	Shares []Share
	// CorrectedWBC is the white cell count minus the nucleated red cells that the instrument counted as white cells; NaN
	// without a white cell count.
	CorrectedWBC float64
}

// WBC is a measured white cell count, in any unit of concentration.
type WBC struct {
	Value float64 // NaN if unknown
	// Corrected is set if the instrument has already excluded nucleated red cells.
	Corrected bool
}

// Unknown returns the WBC for a missing white cell count.
func Unknown() WBC { return WBC{Value: math.NaN()} }

// Of returns the differential of tallies; decimals is the number of decimal places of percentages.
//
// Cells outside the total are reported per 100 white cells (CLSI H20-A2, 2007, 8.4: nucleated red cells are counted
// separately). Only nucleated red cells correct the white cell count: instruments do not count smudge cells and
// platelet clumps as white cells. Absolute numbers use the corrected white cell count and the unrounded share.
func Of(tallies []Tally, wbc WBC, decimals int) Differential {
	d := Differential{CorrectedWBC: wbc.Value}
	red := 0
	for _, t := range tallies {
		switch {
		case t.InTotal:
			d.Total += t.Count
		case t.NucleatedRed:
			red += t.Count
		}
	}
	whole := 100 * pow10(decimals)
	percents := apportion(tallies, d.Total, whole)
	if d.Total > 0 && !wbc.Corrected {
		d.CorrectedWBC = CorrectedWBC(wbc.Value, red, d.Total)
	}
	for i, t := range tallies {
		share := Share{CellID: t.CellID, Count: t.Count, InTotal: t.InTotal, Percent: percents[i], Absolute: math.NaN()}
		if d.Total > 0 {
			if !t.InTotal {
				share.Percent = int(math.Round(float64(t.Count) * float64(whole) / float64(d.Total)))
			}
			share.Absolute = d.CorrectedWBC * float64(t.Count) / float64(d.Total)
		}
		d.Shares = append(d.Shares, share)
	}
	return d
}

// CorrectedWBC returns a white cell count without nucleated red cells: WBC × 100 ÷ (100 + NRBC per 100 white cells),
// the formula of Dacie and Lewis, Practical Haematology, chapter 3. red and white are the counted nucleated red cells
// and white cells; white is at least one. With whole numbers, nothing is rounded twice.
func CorrectedWBC(wbc float64, red, white int) float64 {
	return wbc * float64(white) / float64(white+red)
}

// apportion distributes whole units over the tallies in the total by largest remainder (Hamilton's method), so that the
// rounded parts add up to whole. Of equal remainders, the larger count is rounded up first, then the smaller cell id,
// so that equal counts always give the same differential.
func apportion(tallies []Tally, total, whole int) []int {
	parts := make([]int, len(tallies))
	if total == 0 {
		return parts
	}
	left := whole
	var order []int
	for i, t := range tallies {
		if !t.InTotal {
			continue
		}
		parts[i] = t.Count * whole / total
		left -= parts[i]
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int {
		ra, rb := tallies[a].Count*whole%total, tallies[b].Count*whole%total
		return cmp.Or(rb-ra, tallies[b].Count-tallies[a].Count, cmp.Compare(tallies[a].CellID, tallies[b].CellID))
	})
	for _, i := range order[:left] {
		parts[i]++
	}
	return parts
}

func pow10(n int) int {
	p := 1
	for range n {
		p *= 10
	}
	return p
}
