package callout

import (
	"maps"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
)

// Finding is the judgement of a report.
type Finding struct {
	Critical []Parameter
	// Unclear are values with critical limits that cannot be judged, but for those that say that there is no result.
	Unclear  []Parameter
	Abnormal bool
	// Undecided means that a value with critical limits cannot be judged, or that nothing can.
	Undecided bool
	clear     map[int64]bool // formats whose values are certainly not critical
}

// Judge judges every value of a report.
func Judge(c Chart, formats Formats) Finding {
	f := Finding{clear: map[int64]bool{}}
	decided := false
	doubtful := map[int64]bool{}
	for _, r := range c.Readings {
		for _, format := range formats.of(c, r) {
			value := clinical.ParseValueIn(r.Value, format.Unit)
			a, band, limited := format.assess(c.Patient, value)
			switch {
			case a.Critical.Outside():
				doubtful[format.ID] = true
				f.Critical = append(f.Critical, format.parameter(r, value, a.Critical, band))
			case a.Critical == clinical.Undecided && limited:
				doubtful[format.ID] = true
				f.Undecided = true
				if !value.Absent() {
					f.Unclear = append(f.Unclear, format.parameter(r, value, a.Critical, band))
				}
			default:
				f.clear[format.ID] = true
			}
			f.Abnormal = f.Abnormal || a.Normal.Outside()
			decided = decided || a.Normal != clinical.Undecided || a.Critical != clinical.Undecided
		}
	}
	maps.DeleteFunc(f.clear, func(format int64, _ bool) bool { return doubtful[format] })
	f.Undecided = f.Undecided || !decided
	return f
}

// of returns the formats that a value is judged by: those of its index, of the test that it names. Two tests of a
// profile may share an index, and a value may not say which one it belongs to: then one that calls it critical is
// enough.
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

// at returns the formats of an index. A value has usually one; then nothing is copied.
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

// inOrder narrows formats of one index to those at the value's place, if there are any.
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

// assess also returns the place of the band, -1 without one, and whether critical limits may apply to the patient.
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
	p := Parameter{Name: r.Name, Unit: f.Unit, RawValue: r.Value, Index: r.Index, FormatID: f.ID, Flag: flagOf(o)}
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
