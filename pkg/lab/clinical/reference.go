package clinical

import "strings"

// Reference is what a value of one parameter is judged against for one patient.
type Reference struct {
	// TextOnly is set for parameters whose values are words: numbers are not compared with the ranges.
	TextOnly bool
	Normal   Range
	Critical Range
	// NormalTexts and CriticalTexts are compared without regard to case. A text in both is normal.
	NormalTexts   []string
	CriticalTexts []string
}

// Assessment is the judgement of one value. Normal says where it lies with regard to the normal range, Critical
// to the critical limits: Critical.Outside() means critical.
type Assessment struct {
	Normal   Outcome
	Critical Outcome
}

// Assess judges v. A value is critical when it is outside the normal range and outside the critical limits, so
// a critical limit that was configured inside the normal range never fires. Where no normal range and no normal
// texts are configured, the critical limits decide alone.
func (r *Reference) Assess(v Value) Assessment {
	if a, ok := r.listed(v); ok {
		return a
	}
	if r.TextOnly {
		return Assessment{}
	}
	normal, critical := r.Normal.Judge(v), r.Critical.Judge(v)
	if critical.Outside() && !r.Normal.Empty() {
		critical = normal // outside both: inside or undecided in the normal range wins
	}
	return Assessment{Normal: normal, Critical: critical}
}

// listed judges by the configured texts; ok is false when they say nothing about v.
func (r *Reference) listed(v Value) (a Assessment, ok bool) {
	if len(r.NormalTexts) == 0 && len(r.CriticalTexts) == 0 || v.text == "" {
		return Assessment{}, false
	}
	switch {
	case contains(r.NormalTexts, v.text):
		return Assessment{Normal: Inside, Critical: Inside}, true
	case contains(r.CriticalTexts, v.text):
		return Assessment{Normal: Unlisted, Critical: Unlisted}, true
	case v.numeric || !v.word():
		return Assessment{}, false
	}
	if len(r.NormalTexts) > 0 {
		a.Normal = Unlisted
	}
	if len(r.CriticalTexts) > 0 {
		a.Critical = Inside
	}
	return a, true
}

func contains(texts []string, text string) bool {
	for _, t := range texts {
		if strings.EqualFold(strings.TrimSpace(t), text) {
			return true
		}
	}
	return false
}
