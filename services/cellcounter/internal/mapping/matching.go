package mapping

// matching assigns elements to the rows that they update. An element may update the row with its key or the row with
// its parameter, and each row that an element names must be updated by one element. Keys and parameters occur once
// among the elements, so at most two elements name a row, and augmenting paths are short.
type matching struct {
	present   []Row
	changes   []Change
	edges     []edge // by element
	rowOf     []int  // by element: the row that it updates; -1 for a new mapping
	elementOf []int  // by row: the element that updates it; -1 if none does
	named     []int  // by row: an element that names it; -1 if none does
}

// edge holds the rows that an element names by its key and by its parameter; -1 means none.
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
	// An element prefers the row with its key, so that an incomplete element changes the mapping of the key that it names.
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

// augment finds an element that updates row, by moving other elements to the second row that they name. It reports
// whether it found one.
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

// unmatchedRow returns a row that no element would update, and the element that names this row and another one; -1 if
// there is none.
func (m *matching) unmatchedRow() (row, element int) {
	for r, i := range m.named {
		if i >= 0 && m.elementOf[r] < 0 {
			return r, m.elementNamingTwo(r)
		}
	}
	return -1, -1
}

// elementNamingTwo returns an element that names row and also another row.
func (m *matching) elementNamingTwo(row int) int {
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
