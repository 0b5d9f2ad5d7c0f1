package autorerun

import (
	"slices"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
)

// Condition is the configured condition of a parameter.
type Condition string

// The conditions. Any other text qualifies nothing.
const (
	Abnormal Condition = "abnormal"
	Critical Condition = "critical"
	Custom   Condition = "custom"
)

// Format is a parameter for which an automatic rerun is allowed.
type Format struct {
	Index     int
	Condition Condition
	Custom    clinical.Range // for Custom
	Bands     []clinical.Band
}

// Subject is a report whose values are judged.
type Subject struct {
	Open      bool // a rerun is open
	Dismissed bool
	Patient   clinical.Patient
	Indices   map[int]bool // of all enabled formats
	Formats   []Format     // formats that allow an automatic rerun
}

// Reading is one value of the instrument.
type Reading struct {
	Index int
	Value string
}

// verdicts of a reading against one format.
type verdict int

const (
	no verdict = iota
	yes
	undecided
)

// judge applies the format's condition. Without a band for the patient, without limits, and for a value that cannot be
// compared the verdict is undecided, which does not qualify.
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

// qualify judges the readings. Indices without a value do not count. If two tests of a profile have an index, one that
// qualifies is enough.
func qualify(s Subject, readings []Reading) (v Verdict) {
	for _, r := range readings {
		if !s.Indices[r.Index] {
			v.Unknown = append(v.Unknown, r.Index)
		}
		value := clinical.ParseValue(r.Value)
		for _, f := range s.Formats {
			if f.Index != r.Index {
				continue
			}
			switch f.judge(s.Patient, value) {
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
