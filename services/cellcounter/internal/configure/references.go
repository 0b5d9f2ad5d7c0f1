package configure

import (
	"fmt"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

// resolve sets the parameter of each element from its report_format_id, and whether its cell is counted in the total.
// It returns an error for parameters that the test does not have.
func (w Write) resolve(
	formats map[int64]mapping.Parameter, cells map[int64]mapping.Cell,
) ([]mapping.Change, error) {
	known := map[mapping.Parameter]bool{}
	for _, p := range formats {
		known[p] = true
	}
	changes := make([]mapping.Change, len(w.Elements))
	var fields []apperr.Field
	for i, e := range w.Elements {
		changes[i] = w.inTotal(e.Change, cells)
		if e.FormatID != nil {
			p, ok := formats[*e.FormatID]
			switch {
			case !ok:
				fields = append(fields, apperr.Field{Index: i, Name: "report_format_id",
					Message: fmt.Sprintf("report_format_id %d does not belong to this test", *e.FormatID)})
				continue
			case e.Parameter != nil && *e.Parameter != p:
				fields = append(fields, apperr.Field{Index: i, Name: "report_format_id", Message: fmt.Sprintf(
					"report_format_id %d is the parameter with %s; leave out report_format_index and report_format_order",
					*e.FormatID,
					p,
				)})
				continue
			}
			changes[i].Parameter = &p
		}
		if p := changes[i].Parameter; p != nil && !known[*p] {
			fields = append(fields, apperr.Field{Index: i, Name: "report_format_index",
				Message: fmt.Sprintf("this test has no parameter with %s", p)})
		}
	}
	if len(fields) > 0 {
		return nil, apperr.InvalidFields(fields...)
	}
	return changes, nil
}

// inTotal returns the change with the default of its cell. If a complete mapping of a nucleated red cell has no
// include_in_total, the cell is counted separately, whatever was stored.
func (w Write) inTotal(c mapping.Change, cells map[int64]mapping.Cell) mapping.Change {
	if c.CellID == nil {
		return c
	}
	if c.Default = cells[*c.CellID].InTotal(); w.Complete && !c.Default && c.IncludeInTotal == nil {
		c.IncludeInTotal = &c.Default
	}
	return c
}

// warnings returns a warning for each element that counts nucleated red cells in the total.
func (w Write) warnings(cells map[int64]mapping.Cell, written []mapping.Row) []apperr.Field {
	var notes []apperr.Field
	for i, row := range written {
		if row.IncludeInTotal && !cells[row.CellID].InTotal() {
			notes = append(notes, apperr.Field{Index: i, Name: "include_in_total", Message: mapping.InTotalNote})
		}
	}
	return notes
}

// checkCells returns an error for unknown cells, and for disabled cells that the mapping did not already have. previous
// holds the rows that the elements update.
func (w Write) checkCells(cells map[int64]mapping.Cell, previous []*mapping.Row) error {
	var fields []apperr.Field
	for i, e := range w.Elements {
		if e.CellID == nil {
			continue
		}
		cell, ok := cells[*e.CellID]
		switch {
		case !ok:
			fields = append(fields, apperr.Field{Index: i, Name: "cell_id",
				Message: fmt.Sprintf("there is no cell %d; GET cells/ lists them", *e.CellID)})
		case cell.Disabled && (previous[i] == nil || previous[i].CellID != cell.ID):
			fields = append(fields, apperr.Field{Index: i, Name: "cell_id",
				Message: fmt.Sprintf("the cell %s is disabled; choose another one", cell.Name)})
		}
	}
	if len(fields) > 0 {
		return apperr.InvalidFields(fields...)
	}
	return nil
}
