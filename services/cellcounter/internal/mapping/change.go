package mapping

import (
	"fmt"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// Change is the change that an element of a write makes to a mapping. A nil field keeps its value; in a new mapping, it
// is an error.
type Change struct {
	Key            *Key
	Parameter      *Parameter
	CellID         *int64
	IncludeInTotal *bool
	// Default is the IncludeInTotal of a mapping that is new or gets another cell, if the change itself has none.
	Default bool
}

// apply returns row after the change. A nil row is a new mapping. The error names a required field that is missing.
func (c Change) apply(row *Row) (Row, error) {
	var result Row
	if row != nil {
		result = *row
	}
	if c.Key != nil {
		result.Key = *c.Key
	}
	if c.Parameter != nil {
		result.Parameter = *c.Parameter
	}
	if c.CellID != nil {
		result.CellID = *c.CellID
	}
	switch {
	case c.IncludeInTotal != nil:
		result.IncludeInTotal = *c.IncludeInTotal
	case row == nil || row.CellID != result.CellID:
		result.IncludeInTotal = c.Default
	}
	if row != nil {
		return result, nil
	}
	switch {
	case c.Key == nil:
		return result, missing{"key"}
	case c.Parameter == nil:
		return result, missing{"report_format_index"}
	case c.CellID == nil:
		return result, missing{"cell_id"}
	}
	return result, nil
}

// missing is the error for a required field of a new mapping that the change lacks.
type missing struct{ field string }

func (m missing) Error() string { return m.field + " is required for a new mapping" }

// duplicates returns a field error for each element that repeats a key or a parameter of an earlier one.
func duplicates(changes []Change) []apperr.Field {
	var fields []apperr.Field
	keys, parameters := map[string]int{}, map[Parameter]int{}
	for i, c := range changes {
		if c.Key != nil {
			if first, ok := keys[c.Key.fold()]; ok {
				fields = append(fields, apperr.Field{Index: i, Name: "key",
					Message: fmt.Sprintf("key '%s' is already given by element %d", c.Key, first)})
			} else {
				keys[c.Key.fold()] = i
			}
		}
		if c.Parameter != nil {
			if first, ok := parameters[*c.Parameter]; ok {
				fields = append(fields, apperr.Field{Index: i, Name: "report_format_index",
					Message: fmt.Sprintf("the parameter (%s) is already given by element %d", c.Parameter, first)})
			} else {
				parameters[*c.Parameter] = i
			}
		}
	}
	return fields
}
