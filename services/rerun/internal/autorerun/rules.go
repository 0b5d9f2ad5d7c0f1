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

// Subject is what is known of the report when its values are judged.
type Subject struct {
	Open    bool // a rerun is open
	Patient clinical.Patient
	Formats []Format
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

// judge applies the format's condition. A patient without a band, limits that are missing and values that cannot
// be read are undecided: they do not qualify, and they are no sign of health either.
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

// qualify returns the indices that call for a rerun and those that could not be decided, both ascending. Indices
// without a value do not count. Two tests of a profile may share an index: one that qualifies is enough.
func qualify(s Subject, readings []Reading) (qualifying, open []int) {
	qualifying, open = []int{}, []int{}
	for _, r := range readings {
		value := clinical.ParseValue(r.Value)
		for _, f := range s.Formats {
			if f.Index != r.Index {
				continue
			}
			switch f.judge(s.Patient, value) {
			case yes:
				qualifying = append(qualifying, r.Index)
			case undecided:
				open = append(open, r.Index)
			case no:
			}
		}
	}
	return distinct(qualifying), distinct(open)
}

func distinct(indices []int) []int {
	slices.Sort(indices)
	return slices.Compact(indices)
}
