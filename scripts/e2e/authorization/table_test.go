package authorization

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed people.txt
var people string

//go:embed services.txt
var services string

//go:embed names.txt
var names string

// letters are the letters that the legends explain.
const letters = "y.01349-"

// line is a row of an authorization table: an operation or RPC, and the expected outcomes by column.
type line struct {
	name  string
	cells map[string]string
}

// peopleTable returns the table of operations and logins. A name is a method, a path and, after #, a variant of the
// request.
func peopleTable() ([]line, []string, error) { return parse(people, 2) }

// servicesTable returns the table of gRPC methods and calling services. A name has the form
// lab.search.v1.SearchService/SearchUsers.
func servicesTable() ([]line, []string, error) { return parse(services, 1) }

// parse reads the lines after the legend. The first one names the columns. Every other line is a heading, whose first
// word ends with a dot, or a name of nameWords words with a cell for each column.
func parse(text string, nameWords int) (rows []line, columns []string, err error) {
	prefix := ""
	for written := range strings.Lines(text) {
		words := strings.Fields(written)
		switch {
		case len(words) == 0 || words[0] == "#":
		case columns == nil:
			columns = words[1:]
		case len(words) == len(columns)+nameWords:
			row := line{name: prefix + strings.Join(words[:nameWords], " "), cells: map[string]string{}}
			for i, column := range columns {
				cell := words[nameWords+i]
				if strings.Trim(cell, letters) != "" {
					return nil, nil, fmt.Errorf("the cell %s of %s has a letter that the legend does not explain", cell, row.name)
				}
				row.cells[column] = cell
			}
			rows = append(rows, row)
		case !strings.HasSuffix(words[0], "."):
			return nil, nil, fmt.Errorf("%d cells for %d columns: %s", len(words)-nameWords, len(columns), written)
		case nameWords == 1:
			prefix = strings.TrimSuffix(words[0], ".") + "/"
		}
	}
	return rows, columns, nil
}

// letters returns the letters of a cell, one for each owner.
func (r line) letters(column string) string {
	cell, owners := r.cells[column], ""
	for _, c := range r.cells {
		if len(c) > len(owners) || strings.Contains(c, "-") {
			owners = c
		}
	}
	if len(cell) == len(owners) {
		return cell
	}
	spread := []byte(owners)
	for i := range spread {
		if spread[i] != '-' {
			spread[i] = cell[0]
		}
	}
	return string(spread)
}
