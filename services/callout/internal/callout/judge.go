package callout

import (
	"time"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
)

// State is the result of comparing one value with its limits.
type State int

// States, the most urgent first. A parameter with several values has the most urgent of their states.
const (
	IsCritical State = iota
	IsUnclear        // it has critical limits but is not comparable with them
	IsBlank          // the value means that there is no result
	IsClear          // definitely not critical
	IsUnjudged       // no enabled parameter of the test applies to it
	IsMissing        // the report does not have the value
)

// Judged is a value with its state.
type Judged struct {
	Parameter
	State State
	At    time.Time // when the value was stored
}

// Finding is the result of judging all values of a report.
type Finding struct {
	Critical []Parameter
	// Unclear are values with critical limits that are not comparable with them, except blank values.
	Unclear  []Parameter
	Abnormal bool
	// Undecided is set if a value with critical limits cannot be judged, or if no value can.
	Undecided bool
	Values    []Judged
}

// at returns the most urgent state of a parameter, and its value. Without a value it returns IsMissing and nil. A value
// without a matching format is found by its index alone, because the test may have been reconfigured.
func (f *Finding) at(k Key) (State, *Judged) {
	state, found := IsMissing, (*Judged)(nil)
	for i := range f.Values {
		v := &f.Values[i]
		if v.Index == k.Index && (v.TestID == k.TestID || v.State == IsUnjudged) && v.State < state {
			state, found = v.State, v
		}
	}
	return state, found
}

// has reports whether a value is critical now and equal to p.
func (f *Finding) has(p *Parameter) bool {
	for i := range f.Critical {
		if f.Critical[i].Key() == p.Key() && f.Critical[i].Same(p) {
			return true
		}
	}
	return false
}

// Judge compares every value of a report with the limits of its formats.
func Judge(c Chart, formats Formats) Finding {
	f := Finding{}
	decided := false
	for _, r := range c.Readings {
		fitting := formats.of(c, r)
		if len(fitting) == 0 && len(formats) > 0 {
			p := Parameter{RawValue: r.Value, Name: r.Name, Index: r.Index, TestID: c.test(r)}
			f.Values = append(f.Values, Judged{p, IsUnjudged, r.At})
		}
		for _, format := range fitting {
			value := clinical.ParseValueIn(r.Value, format.Unit)
			a, band, limited := format.assess(c.Patient, value)
			p := format.parameter(r, value, a.Critical, band)
			state := stateOf(a, value, limited)
			switch state {
			case IsCritical:
				f.Critical = append(f.Critical, p)
			case IsUnclear:
				f.Unclear = append(f.Unclear, p)
			}
			f.Values = append(f.Values, Judged{p, state, r.At})
			f.Undecided = f.Undecided || state == IsUnclear || state == IsBlank
			f.Abnormal = f.Abnormal || a.Normal.Outside()
			decided = decided || a.Normal != clinical.Undecided || a.Critical != clinical.Undecided
		}
	}
	f.Undecided = f.Undecided || !decided
	return f
}

func stateOf(a clinical.Assessment, v clinical.Value, limited bool) State {
	switch {
	case a.Critical.Outside():
		return IsCritical
	case a.Critical != clinical.Undecided || !limited:
		return IsClear
	case v.Absent():
		return IsBlank
	}
	return IsUnclear
}

// test returns the id of the test that a value names, or of the report's own test.
func (c *Chart) test(r Reading) int64 {
	if r.ProfileTestID == 0 && len(c.Tests) > 0 {
		return c.Tests[0]
	}
	return r.ProfileTestID
}

// of returns the formats that apply to a value: the formats of its index in the test that it names or, without a name,
// in the report's own test. If that test has none, the value is judged by the formats of this index in all tests of the
// report, and is critical if one of them makes it critical.
func (all Formats) of(c Chart, r Reading) []Format {
	named := r.ProfileTestID
	if named == 0 && len(c.Tests) > 0 {
		named = c.Tests[0]
	}
	if found := at(all[named], r.Index); len(found) > 0 {
		return inOrder(found, r.Order)
	}
	var found []Format
	for _, test := range c.Tests {
		found = append(found, at(all[test], r.Index)...)
	}
	return inOrder(found, r.Order)
}

// at returns the formats with an index. It does not allocate in the usual case of one format.
func at(list []Format, index int) []Format {
	var found []Format
	for i := range list {
		switch {
		case list[i].Index != index:
		case found == nil:
			found = list[i : i+1 : i+1]
		default:
			found = append(found, list[i])
		}
	}
	return found
}

// inOrder returns the formats with the given order, or all formats if none has it.
func inOrder(formats []Format, order int) []Format {
	if len(formats) < 2 {
		return formats
	}
	var same []Format
	for _, f := range formats {
		if f.Order == order {
			same = append(same, f)
		}
	}
	if len(same) > 0 {
		return same
	}
	return formats
}

// assess compares a value with the band for the patient. It also returns the index of the band, or -1 if there is none,
// and whether critical limits may apply to the patient.
func (f Format) assess(p clinical.Patient, v clinical.Value) (a clinical.Assessment, at int, limited bool) {
	band, ok := clinical.Select(f.Bands, p)
	if !ok {
		for i := range f.Bands {
			limited = limited || hasCriticalLimits(&f.Bands[i])
		}
		return a, -1, limited
	}
	for i := range f.Bands {
		if &f.Bands[i] == band {
			at = i
		}
	}
	return band.Reference.Assess(v), at, hasCriticalLimits(band)
}

func hasCriticalLimits(b *clinical.Band) bool {
	return !b.Reference.Critical.Empty() || len(b.Reference.CriticalTexts) > 0
}

func (f Format) parameter(r Reading, v clinical.Value, o clinical.Outcome, at int) Parameter {
	p := Parameter{
		Name: r.Name, Unit: f.Unit, RawValue: r.Value, Index: r.Index, FormatID: f.ID, TestID: f.TestID, Flag: flagOf(o),
	}
	if p.Name == "" {
		p.Name = f.Name
	}
	if at >= 0 && at < len(f.Printed) {
		p.ReferenceRange, p.CriticalRange = f.Printed[at].Reference, f.Printed[at].Critical
	}
	if n, ok := v.Number(); ok {
		p.Value = &n
	}
	return p
}

func flagOf(o clinical.Outcome) string {
	switch o {
	case clinical.Low:
		return FlagLow
	case clinical.High:
		return FlagHigh
	default:
		return FlagText
	}
}
