package autorerun

import (
	"slices"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
)

// Condition is the configured condition of a parameter for an automatic rerun.
type Condition string

// Conditions. With any other text, no value qualifies.
const (
	Abnormal Condition = "abnormal"
	Critical Condition = "critical"
	Custom   Condition = "custom"
)

// Format is a parameter for which an automatic rerun is allowed.
type Format struct {
	Index     int
	Unit      string // accepted after a number
	Condition Condition
	Custom    clinical.Range // limits for the condition Custom
	Bands     []clinical.Band
}

// Subject is the report whose values are judged.
type Subject struct {
	Open      bool // a rerun is open
	Dismissed bool
	Patient   clinical.Patient
	Indices   map[int]bool // indices of all enabled formats
	Formats   []Format     // formats that allow an automatic rerun
}

// Reading is one value of the instrument.
type Reading struct {
	Index int
	Value string
}

// verdict is the result of judging a reading by one format.
type verdict int

const (
	no verdict = iota
	yes
	undecided
)

// judge applies the format's condition to a value. The result is undecided, which does not qualify, if no band fits the
// patient, if there are no limits, or if the value cannot be compared.
func (f Format) judge(p clinical.Patient, value clinical.Value) verdict {
	if f.Condition == Custom {
		return verdictOf(f.Custom.Classify(value))
	}
	band, ok := clinical.Select(f.Bands, p)
	if !ok {
		return undecided
	}
	assessment := band.Reference.Assess(value)
	switch f.Condition {
	case Abnormal:
		return verdictOf(assessment.Normal)
	case Critical:
		return verdictOf(assessment.Critical)
	default:
		return undecided
	}
}

func verdictOf(o clinical.Outcome) verdict {
	switch {
	case o.Outside():
		return yes
	case o == clinical.Undecided:
		return undecided
	default:
		return no
	}
}

// qualify judges the readings. Indices without a value are ignored. If two tests of a profile share an index, one
// qualifying test is enough.
func qualify(s Subject, readings []Reading) (v Verdict) {
	for _, r := range readings {
		if !s.Indices[r.Index] {
			v.Unknown = append(v.Unknown, r.Index)
		}
		for _, f := range s.Formats {
			if f.Index != r.Index {
				continue
			}
			switch f.judge(s.Patient, clinical.ParseValueIn(r.Value, f.Unit)) {
			case yes:
				v.Qualifying = append(v.Qualifying, r.Index)
			case undecided:
				v.Undecided = append(v.Undecided, r.Index)
			case no:
			}
		}
	}
	return Verdict{distinct(v.Qualifying), distinct(v.Undecided), distinct(v.Unknown)}
}

func distinct(indices []int) []int {
	slices.Sort(indices)
	return slices.Compact(indices)
}
