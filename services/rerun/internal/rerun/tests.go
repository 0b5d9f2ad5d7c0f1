package rerun

import (
	"slices"
	"strings"
)

// Parameter is one enabled format of a report or of its profile children.
type Parameter struct {
	TestID   int64 // id of the format's test
	Index    int
	Order    int
	Name     string
	TestName string
}

// Tests holds the tests of a report with their parameters. Two tests of a profile may have the same index. A test is
// identified as in reportValues.profileTestId: 0 is the report's own test.
type Tests struct {
	Own        int64 // id of the report's own test
	Parameters []Parameter
}

// id returns 0 for the report's own test, which other programs store as 0 or as its id.
func (t Tests) id(testID int64) int64 {
	if testID == t.Own {
		return 0
	}
	return testID
}

// With returns t with the name of a stored value as an additional name of its parameter.
func (t Tests) With(testID int64, index, order int, name string) Tests {
	t.Parameters = append(slices.Clip(t.Parameters), Parameter{TestID: testID, Index: index, Order: order, Name: name})
	return t
}

// Having returns the tests that have the index, without duplicates.
func (t Tests) Having(index int) []int64 {
	return t.matching(func(p Parameter) bool { return p.Index == index })
}

func (t Tests) named(index int, name string) []int64 {
	name = strings.TrimSpace(name)
	return t.matching(func(p Parameter) bool {
		return p.Index == index && name != "" && strings.EqualFold(strings.TrimSpace(p.Name), name)
	})
}

func (t Tests) matching(match func(Parameter) bool) (ids []int64) {
	for _, p := range t.Parameters {
		if id := t.id(p.TestID); match(p) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Of returns the test of an index. A test id other than 0 determines it, but the report's own id only if the own test
// has the index; otherwise the name of the parameter does, or the index if only one test has it. An index that no test
// has belongs to the report's own test. ok is false if several tests have the index and the name does not determine
// one.
func (t Tests) Of(testID int64, index int, name string) (id int64, ok bool) {
	having := t.Having(index)
	switch named := t.named(index, name); {
	case testID != 0 && (t.id(testID) != 0 || slices.Contains(having, 0)):
		return t.id(testID), true
	case len(named) == 1:
		return named[0], true
	case len(having) > 1:
		return 0, false
	case len(having) == 1:
		return having[0], true
	}
	return 0, true
}

// OfResult returns the test of a row of the report. The row's test id determines it, even if that test does not have
// the index, because other programs may have stored it. Otherwise it is the test that Of returns or, if the index
// belongs to it, the report's own test.
func (t Tests) OfResult(r Result) (id int64, ok bool) {
	if r.ProfileTestID != 0 {
		return t.id(r.ProfileTestID), true
	}
	if id, ok = t.Of(0, r.Index, r.ParameterName); !ok && slices.Contains(t.Having(r.Index), 0) {
		return 0, true
	}
	return id, ok
}

// OfValue returns the test of a received value.
func (t Tests) OfValue(v Value) (id int64, ok bool) {
	if v.TestKnown {
		return v.TestID, true
	}
	return t.Of(0, v.Index, v.ParameterName)
}

// Parameter returns the parameter of a test and index.
func (t Tests) Parameter(id int64, index int) (Parameter, bool) {
	i := slices.IndexFunc(t.Parameters, func(p Parameter) bool { return t.id(p.TestID) == id && p.Index == index })
	if i < 0 {
		return Parameter{}, false
	}
	return t.Parameters[i], true
}

// Naming returns the test id that Of accepts for the test. It is not 0 if several tests have the index.
func (t Tests) Naming(id int64, index int) int64 {
	if id == 0 && len(t.Having(index)) > 1 {
		return t.Own
	}
	return id
}

// Name returns the name of a test; "" if it has no parameter here.
func (t Tests) Name(id int64) string {
	for _, p := range t.Parameters {
		if t.id(p.TestID) == id && p.TestName != "" {
			return p.TestName
		}
	}
	return ""
}
