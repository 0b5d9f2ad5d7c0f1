package relevance

import (
	"fmt"
	"slices"
	"strings"
)

// Depth is the number of hits of a result that are evaluated.
const Depth = 10

// Figures holds the quality of search results for one kind of text.
type Figures struct {
	Kind   string
	Texts  int
	MRR    float64 // mean of 1 / rank of the expected patient, 0 if not among the first Depth
	Recall float64 // share of texts whose expected patient is among the first Depth
	Alien  int     // hits of other laboratories
}

// Hit is one hit of a result.
type Hit struct{ UserID, LabID int64 }

// Measure searches for every text and returns the figures of each kind, in the order of their first texts, and the
// figures of all texts at the end. It stops at the first error of search.
func Measure(judgements []Judgement, search func(Judgement) ([]Hit, error)) ([]Figures, error) {
	var each []Figures
	all := Figures{Kind: "all"}
	for _, j := range judgements {
		hits, err := search(j)
		if err != nil {
			return nil, fmt.Errorf("search for %s: %w", j.Kind, err)
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

// Table formats figures as a table.
func Table(figures []Figures) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s %6s %6s %9s %6s\n", "kind", "texts", "MRR", "recall@10", "alien")
	for _, f := range figures {
		fmt.Fprintf(&b, "%-24s %6d %6.3f %9.3f %6d\n", f.Kind, f.Texts, f.MRR, f.Recall, f.Alien)
	}
	return b.String()
}
