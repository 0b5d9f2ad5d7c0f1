package counting

import "testing"

// The test checks that the continued fraction needs at most 100 terms, for any number of cells and any share.
func TestTheLimitsCostAFewTerms(t *testing.T) {
	t.Parallel()
	const enough = 100
	worst := 0
	for _, n := range []int{1, 100, 1000, 10_000} {
		for k := 0; k < n; k += max(n/50, 1) {
			for percent := 1; percent < 100; percent++ {
				worst = max(worst, termsOf(float64(percent)/100, float64(n-k), float64(k+1)))
			}
		}
	}
	t.Logf("at most %d terms", worst)
	if worst > enough {
		t.Errorf("%d terms, want at most %d", worst, enough)
	}
}

// termsOf returns the number of terms that beta(x, a, b) computes.
func termsOf(x, a, b float64) int {
	if x > (a+1)/(a+b+2) {
		x, a, b = 1-x, b, a
	}
	_, terms := fraction(x, a, b)
	return terms
}

// BenchmarkTwoObservers compares two observers who counted 10,000 cells of 100 kinds each.
func BenchmarkTwoObservers(b *testing.B) {
	var first, second []Tally
	for id := range int64(100) {
		first = append(first, Tally{CellID: id + 1, Count: 100, InTotal: true})
		second = append(second, Tally{CellID: id + 1, Count: 90 + int(id)%20, InTotal: true})
	}
	for b.Loop() {
		Compare(first, second)
	}
}
