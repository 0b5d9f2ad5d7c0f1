package relevance

import (
	"fmt"
	"slices"
	"strings"
)

// Depth is how far down an answer is looked at.
const Depth = 10

// Figures say how well texts were answered.
type Figures struct {
	Kind   string
	Texts  int
	MRR    float64 // mean of 1 / place of the one who is meant, 0 when not among the first Depth
	Recall float64 // share of texts with the one who is meant among the first Depth
	Alien  int     // hits of other laboratories
}

// Hit is one hit of an answer.
type Hit struct{ UserID, LabID int64 }

// Measure asks every text and returns the figures of each kind in the order of their first texts, and of all together at the end.
// An error of answer ends it.
func Measure(judgements []Judgement, answer func(Judgement) ([]Hit, error)) ([]Figures, error) {
	var each []Figures
	all := Figures{Kind: "all"}
	for _, j := range judgements {
		hits, err := answer(j)
		if err != nil {
			return nil, fmt.Errorf("ask for %s: %w", j.Kind, err)
		}
		i := slices.IndexFunc(each, func(f Figures) bool { return f.Kind == j.Kind })
		if i < 0 {
			i, each = len(each), append(each, Figures{Kind: j.Kind})
		}
		each[i].add(j, hits)
		all.add(j, hits)
	}
	each = append(each, all)
	for i := range each {
		each[i].MRR /= float64(max(1, each[i].Texts))
		each[i].Recall /= float64(max(1, each[i].Texts))
	}
	return each, nil
}

func (f *Figures) add(j Judgement, hits []Hit) {
	f.Texts++
	for n, hit := range hits[:min(len(hits), Depth)] {
		if hit.LabID != j.LabID {
			f.Alien++
		}
		if hit.UserID == j.Want {
			f.MRR += 1 / float64(n+1)
			f.Recall++
		}
	}
}

// Table prints figures for people.
func Table(figures []Figures) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s %6s %6s %9s %6s\n", "kind", "texts", "MRR", "recall@10", "alien")
	for _, f := range figures {
		fmt.Fprintf(&b, "%-24s %6d %6.3f %9.3f %6d\n", f.Kind, f.Texts, f.MRR, f.Recall, f.Alien)
	}
	return b.String()
}
