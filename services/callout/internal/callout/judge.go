package callout

import (
	"github.com/labplatform/labplatform/pkg/lab/clinical"
)

// Finding is the judgement of a report.
type Finding struct {
	Critical []Parameter
	Abnormal bool
	// Unclear means that a value with critical limits cannot be judged, or that nothing can: such a report is not cleared.
	Unclear bool
}

// Event is what the finding does to a report, ok false when it does nothing because the values are unclear. told is
// what was communicated last; nil when nothing is known of it.
func (f Finding) Event(s Status, told []Parameter, known bool) (e Event, ok bool) {
	switch {
	case len(f.Critical) > 0:
		if s == Done && (!known || covers(told, f.Critical)) {
			return 0, false
		}
		return FoundCritical, true
	case f.Unclear && (s.Open() || !f.Abnormal):
		return 0, false
	case f.Abnormal:
		return FoundAbnormal, true
	default:
		return FoundNormal, true
	}
}

// covers tells whether every present value was communicated.
func covers(told, present []Parameter) bool {
	type said struct {
		format int64
		value  string
	}
	all := map[said]bool{}
	for _, p := range told {
		all[said{p.FormatID, p.RawValue}] = true
	}
	for _, p := range present {
		if !all[said{p.FormatID, p.RawValue}] {
			return false
		}
	}
	return true
}

// Judge judges every value of a report.
func Judge(c Chart, formats Formats) Finding {
	var f Finding
	decided := false
	for _, r := range c.Readings {
		value := clinical.ParseValue(r.Value)
		for _, format := range formats.of(c, r) {
			a, band, limited := format.assess(c.Patient, value)
			switch {
			case a.Critical.Outside():
				f.Critical = append(f.Critical, format.parameter(r, value, a.Critical, band))
			case a.Critical == clinical.Undecided && limited:
				f.Unclear = true
			}
			f.Abnormal = f.Abnormal || a.Normal.Outside()
			decided = decided || a.Normal != clinical.Undecided || a.Critical != clinical.Undecided
		}
	}
	f.Unclear = f.Unclear || !decided
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

// at returns the formats of an index. A value has mostly one; then nothing is copied.
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
	if at < len(f.Printed) {
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
