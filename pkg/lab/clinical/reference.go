package clinical

import (
	"slices"
	"strings"
)

// Reference holds the limits of one parameter for one patient.
type Reference struct {
	// TextOnly is set for parameters whose values are words; numbers are then not compared with the ranges.
	TextOnly bool
	Normal   Range
	Critical Range
	// NormalTexts and CriticalTexts are the texts of results that are words. A value equals a text of either list without
	// regard to case, width and spaces, a normal text also with a full stop at the end, and a critical text with any
	// punctuation at the ends. A text in both lists is normal.
	NormalTexts   []string
	CriticalTexts []string
}

// Assessment is the result of evaluating one value: Normal is its position relative to the normal range, Critical its
// position relative to the critical limits. The value is critical if Critical.Outside().
type Assessment struct {
	Normal   Outcome
	Critical Outcome
}

// Assess evaluates v. Listed texts are compared first: a normal text is inside, a critical text is critical whatever
// the ranges are. A number is critical only if it is outside the critical limits and not on the normal side of a normal
// bound: a critical limit beyond such a bound has no effect. Where the normal range has no bound, the critical limit
// decides alone: with "normal to 140, critical below 40", 30 is critical.
func (r *Reference) Assess(v Value) Assessment {
	if a, ok := r.listed(v); ok {
		return a
	}
	if r.TextOnly {
		return Assessment{}
	}
	normal, critical := r.Normal.Classify(v), r.Critical.Classify(v)
	if critical.Outside() && r.Normal.bounds(critical) {
		critical = normal // outside the critical limits: critical only if also outside the normal range
	}
	return Assessment{Normal: normal, Critical: critical}
}

// listed evaluates v by the configured texts; ok is false if they do not apply. A text on neither list is not normal,
// and it may be critical: it may be a listed text in other words or with a typing error ("Positive for cocci").
func (r *Reference) listed(v Value) (a Assessment, ok bool) {
	if len(r.NormalTexts) == 0 && len(r.CriticalTexts) == 0 || v.text == "" {
		return Assessment{}, false
	}
	switch {
	case contains(r.NormalTexts, v.text):
		return Assessment{Normal: Inside, Critical: Inside}, true
	case contains(r.CriticalTexts, v.text), !v.numeric && containsFolded(r.CriticalTexts, v.text, withoutPunctuation):
		return Assessment{Normal: Unlisted, Critical: Unlisted}, true
	case !v.numeric && containsFolded(r.NormalTexts, v.text, withoutFullStop):
		return Assessment{Normal: Inside, Critical: Inside}, true
	case v.numeric || !v.word():
		return Assessment{}, false
	}
	if len(r.NormalTexts) > 0 {
		a.Normal = Unlisted
	}
	return a, true
}

// sameCritical reports whether both references judge criticality alike for values outside the normal range.
func (r *Reference) sameCritical(o *Reference) bool {
	return r.TextOnly == o.TextOnly && r.Critical.equal(o.Critical) &&
		slices.Equal(r.CriticalTexts, o.CriticalTexts) && slices.Equal(r.NormalTexts, o.NormalTexts)
}

func contains(texts []string, text string) bool {
	for _, t := range texts {
		if strings.EqualFold(strings.TrimSpace(t), text) {
			return true
		}
	}
	return false
}
