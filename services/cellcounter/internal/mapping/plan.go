package mapping

import (
	"errors"
	"fmt"
	"slices"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// Plan is the effect of a write on a scope.
type Plan struct {
	// Write holds the row of each element. An updated row keeps its id, so that one request can exchange keys.
	Write []Row
	// Previous holds the row that each element updates; nil for a new row.
	Previous []*Row
	Inserted int
	Updated  int
	// Result holds all rows of the scope after the write, ordered by parameter.
	Result []Row
}

// NewPlan returns the effect of a write on the current rows of a scope. Each element updates the row with its key or
// its parameter, or adds a row. Errors: Invalid, with a field per element, if elements repeat a key or parameter or are
// incomplete; Conflict if the key of an element belongs to one row and its parameter to another, and no other element
// updates the second row, which would be lost; Conflict if two rows of the result have the same key or parameter.
func NewPlan(present []Row, changes []Change) (Plan, error) {
	if fields := duplicates(changes); len(fields) > 0 {
		return Plan{}, apperr.InvalidFields(fields...)
	}
	m := newMatching(present, changes)
	if row, element := m.unmatchedRow(); row >= 0 {
		return Plan{}, conflict(present, m.edges[element], changes[element])
	}
	return m.plan()
}

// plan returns the result of applying each element to its row.
func (m *matching) plan() (Plan, error) {
	var p Plan
	var fields []apperr.Field
	for i, change := range m.changes {
		var before *Row
		if r := m.rowOf[i]; r >= 0 {
			before = &m.present[r]
			p.Updated++
		} else {
			p.Inserted++
		}
		p.Previous = append(p.Previous, before)
		after, err := m.kept(i, change).apply(before)
		if lacks := (missing{}); errors.As(err, &lacks) {
			fields = append(fields, apperr.Field{Index: i, Name: lacks.field, Message: lacks.Error()})
		}
		p.Write = append(p.Write, after)
	}
	if len(fields) > 0 {
		return Plan{}, apperr.InvalidFields(fields...)
	}
	for r, row := range m.present {
		if m.elementOf[r] < 0 {
			p.Result = append(p.Result, row)
		}
	}
	p.Result = append(p.Result, p.Write...)
	slices.SortFunc(p.Result, func(a, b Row) int { return a.Parameter.compare(b.Parameter) })
	return p, unique(p.Result)
}

// kept returns the change of an element with the stored IncludeInTotal as its default, if its parameter has its cell
// already: another key for both is no other choice, whichever row the element updates.
func (m *matching) kept(element int, c Change) Change {
	r := m.edges[element].byParameter
	if r >= 0 && c.CellID != nil && m.present[r].CellID == *c.CellID {
		c.Default = m.present[r].IncludeInTotal
	}
	return c
}

func (p Parameter) compare(q Parameter) int {
	if p.Order != q.Order {
		return p.Order - q.Order
	}
	return p.Index - q.Index
}

// unique returns a Conflict if a key or a parameter occurs twice in the result. An example: an element has only a key,
// so its row keeps the stored parameter, and another element moves to that parameter.
func unique(rows []Row) error {
	keys, parameters := map[string]Row{}, map[Parameter]Row{}
	for _, row := range rows {
		if _, taken := keys[row.Key.fold()]; taken {
			return KeyTaken(row.Key)
		}
		if _, taken := parameters[row.Parameter]; taken {
			return ParameterTaken(row.Parameter)
		}
		keys[row.Key.fold()], parameters[row.Parameter] = row, row
	}
	return nil
}

// KeyTaken returns the error for a key that another mapping of the scope has.
func KeyTaken(k Key) error {
	return apperr.Newf(apperr.Conflict, "KEY_TAKEN",
		"key '%s' is already mapped to another parameter of this test; change that mapping first, or send both together", k)
}

// ParameterTaken returns the error for a parameter that another mapping of the scope has.
func ParameterTaken(p Parameter) error {
	return apperr.Newf(apperr.Conflict, "PARAMETER_TAKEN",
		"the parameter (%s) is already mapped to another key; change that mapping first, or send both together", p)
}

// conflict returns the error for an element that names two rows, one of which would be lost.
func conflict(present []Row, edge edge, change Change) error {
	return apperr.New(apperr.Conflict, "KEY_AND_PARAMETER_TAKEN", fmt.Sprintf(
		"key '%s' is already mapped to the parameter (%s), and the parameter (%s) to key '%s'; change one of them first, or send both together",
		change.Key,
		present[edge.byKey].Parameter,
		change.Parameter,
		present[edge.byParameter].Key,
	))
}
