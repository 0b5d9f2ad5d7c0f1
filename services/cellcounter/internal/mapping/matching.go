package mapping

// matching assigns elements to the rows that they rewrite. An element may rewrite the row with its key or the row with
// its parameter; every row that any element names has to be rewritten by one. As keys and parameters occur once among
// the elements, a row is named by at most two of them: augmenting paths are short.
type matching struct {
	present   []Row
	changes   []Change
	edges     []edge // of elements
	rowOf     []int  // of elements; -1: a new mapping
	elementOf []int  // of rows; -1: not rewritten
	named     []int  // of rows: an element that names it; -1: none
}

// edge is the pair of rows that an element names; -1: none.
type edge struct{ byKey, byParameter int }

func newMatching(present []Row, changes []Change) *matching {
	m := &matching{present: present, changes: changes, edges: make([]edge, len(changes)),
		rowOf: filled(len(changes)), elementOf: filled(len(present)), named: filled(len(present))}
	keys, parameters := map[string]int{}, map[Parameter]int{}
	for r, row := range present {
		keys[row.Key.fold()], parameters[row.Parameter] = r, r
	}
	for i, c := range changes {
		e := edge{-1, -1}
		if c.Key != nil {
			e.byKey = find(keys, c.Key.fold())
		}
		if c.Parameter != nil {
			e.byParameter = find(parameters, *c.Parameter)
		}
		m.edges[i] = e
		for _, r := range []int{e.byKey, e.byParameter} {
			if r >= 0 {
				m.named[r] = i
			}
		}
	}
	// Elements first get the row of their own key, so that a partial element changes the mapping of the key that it names.
	for i, e := range m.edges {
		if e.byKey >= 0 {
			m.assign(i, e.byKey)
		}
	}
	for r := range present {
		if m.named[r] >= 0 && m.elementOf[r] < 0 {
			m.augment(r, map[int]bool{})
		}
	}
	return m
}

// augment finds an element for row, moving others to the other row that they name.
func (m *matching) augment(row int, seen map[int]bool) bool {
	for i, e := range m.edges {
		if seen[i] || (e.byKey != row && e.byParameter != row) {
			continue
		}
		seen[i] = true
		held := m.rowOf[i]
		if held < 0 || m.augment(held, seen) {
			m.assign(i, row)
			return true
		}
	}
	return false
}

func (m *matching) assign(element, row int) { m.rowOf[element], m.elementOf[row] = row, element }

// unmatchedRow returns a row that would vanish and an element that names two rows, -1 when there is none.
func (m *matching) unmatchedRow() (row, element int) {
	for r, i := range m.named {
		if i >= 0 && m.elementOf[r] < 0 {
			return r, m.doubly(r)
		}
	}
	return -1, -1
}

// doubly returns an element that names row and another one.
func (m *matching) doubly(row int) int {
	for i, e := range m.edges {
		if e.byKey >= 0 && e.byParameter >= 0 && e.byKey != e.byParameter && (e.byKey == row || e.byParameter == row) {
			return i
		}
	}
	return m.named[row]
}

func filled(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = -1
	}
	return list
}

func find[K comparable](index map[K]int, key K) int {
	if at, ok := index[key]; ok {
		return at
	}
	return -1
}
