package search

import (
	"fmt"
	"math/rand/v2"

	"github.com/labplatform/labplatform/pkg/testkit/relevance"
)

// shares are the frequencies of kinds of text in per cent, as at a laboratory's counter: most are names or telephones,
// and many are unfinished, misspelled or of unknown people.
var shares = map[string]int{
	"whole name": 11, "words in another order": 4, "last word begun": 13, "beginnings of words": 8,
	"typing error": 2, "two typing errors": 1, "typing error and digits": 1, "sound": 4, "sound, last word begun": 2,
	"telephone": 16, "last digits": 4, "first digits": 4,
	"patient's number": 6, "bill": 5, "report": 2, "order": 2, "segment of an order": 1, "national number": 1, "email": 1,
	"sample": 5, "beginning of a sample": 2,
	"name and last digits": 1, "name and sample": 1,
	foreign: 3,
}

// mix draws searches.
type mix struct {
	kinds [100]string
	texts map[string][]relevance.Judgement
}

// newMix returns the mix of the texts, or an error unless the kinds of the texts (package relevance) are exactly those
// of shares.
func newMix(texts []relevance.Judgement) (*mix, error) {
	m := &mix{texts: map[string][]relevance.Judgement{}}
	var order []string
	for _, t := range texts {
		if shares[t.Kind] == 0 {
			return nil, fmt.Errorf("the mix has no share of %q", t.Kind)
		}
		if m.texts[t.Kind] == nil {
			order = append(order, t.Kind)
		}
		m.texts[t.Kind] = append(m.texts[t.Kind], t)
	}
	filled := 0
	for _, kind := range order {
		for range shares[kind] {
			m.kinds[filled%len(m.kinds)] = kind
			filled++
		}
	}
	if filled != len(m.kinds) || len(order) != len(shares) {
		return nil, fmt.Errorf("%d of %d kinds have texts, and their shares are %d of 100", len(order), len(shares), filled)
	}
	return m, nil
}

// draw returns n searches, the same for the same seed.
func (m *mix) draw(seed uint64, n int) []relevance.Judgement {
	r := rand.New(rand.NewPCG(seed, 3))
	all := make([]relevance.Judgement, n)
	for i := range all {
		texts := m.texts[m.kinds[r.IntN(len(m.kinds))]]
		all[i] = texts[r.IntN(len(texts))]
	}
	return all
}
