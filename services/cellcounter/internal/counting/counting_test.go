package counting_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/cellcounter/internal/counting"
)

func tallies(counts ...int) []counting.Tally {
	list := make([]counting.Tally, len(counts))
	for i, n := range counts {
		list[i] = counting.Tally{CellID: int64(i + 1), Count: n, InTotal: true}
	}
	return list
}

func TestPercentagesSumToAHundred(t *testing.T) {
	t.Parallel()
	tests := []struct {
		counts   []int
		decimals int
		want     string
	}{
		{[]int{60, 30, 10}, 0, "[60 30 10]"},
		{[]int{1, 1, 1}, 0, "[34 33 33]"}, // equal remainders: the smaller id
		{[]int{1, 1, 1}, 1, "[334 333 333]"},
		{[]int{2, 2, 1, 1}, 0, "[33 33 17 17]"},
		{[]int{199, 1}, 0, "[100 0]"}, // equal remainders: the larger count
		{[]int{0, 0}, 0, "[0 0]"},
		{[]int{7}, 0, "[100]"},
	}
	for _, test := range tests {
		var got []int
		for _, s := range counting.Of(tallies(test.counts...), counting.Unknown(), test.decimals).Shares {
			got = append(got, s.Percent)
		}
		if fmt.Sprint(got) != test.want {
			t.Errorf("%v with %d decimals: %v, want %s", test.counts, test.decimals, got, test.want)
		}
	}
	property.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.IntRange(0, 500), 1, 14).Draw(t, "counts")
		decimals := rapid.IntRange(0, 1).Draw(t, "decimals")
		d, sum := counting.Of(tallies(counts...), counting.Unknown(), decimals), 0
		for i, s := range d.Shares {
			sum += s.Percent
			if exact := float64(counts[i]) * 100 * math.Pow10(decimals) / float64(max(d.Total, 1)); math.Abs(float64(s.Percent)-exact) >= 1 {
				t.Fatalf("share %d of %v is %d, exactly %v", i, counts, s.Percent, exact)
			}
		}
		if whole := int(100 * math.Pow10(decimals)); sum != whole && d.Total > 0 {
			t.Fatalf("shares of %v add up to %d, want %d", counts, sum, whole)
		}
	})
}

func TestNucleatedRedCellsAreCountedApart(t *testing.T) {
	t.Parallel()
	counts := tallies(70, 30, 25)
	counts[2].InTotal, counts[2].NucleatedRed = false, true
	d := counting.Of(counts, counting.WBC{Value: 12.5}, 0)
	if d.Total != 100 || d.CorrectedWBC != 10 || d.Shares[2].Percent != 25 {
		t.Fatalf("differential = %+v, want a corrected count of 10 and 25 nucleated red cells per 100", d)
	}
	if got := d.Shares[0]; got.Percent != 70 || math.Abs(got.Absolute-7) > 1e-9 {
		t.Fatalf("first share = %+v, want 70 %% and 7 absolute", got)
	}
	if d := counting.Of(counts, counting.WBC{Value: 12.5, Corrected: true}, 0); d.CorrectedWBC != 12.5 || d.Shares[0].Absolute != 8.75 {
		t.Errorf("differential of a corrected count = %+v, want 12.5, and 8.75 absolute", d)
	}
	if got := counting.CorrectedWBC(20, 50, 50); got != 10 {
		t.Fatalf("CorrectedWBC(20, 50, 50) = %v, want 10", got)
	}
}

// In a smear of chronic lymphocytic leukaemia, smudge cells are outside the total. They must not correct the white cell
// count, because the instrument did not count them.
func TestTheWhiteCellCountIsCorrectedByNucleatedRedCellsAlone(t *testing.T) {
	t.Parallel()
	d := counting.Of([]counting.Tally{{CellID: 1, Count: 100, InTotal: true}, {CellID: 2, Count: 50}}, counting.WBC{Value: 80}, 0)
	if d.CorrectedWBC != 80 || d.Shares[0].Absolute != 80 {
		t.Errorf("differential with smudge cells = %+v, want the white cell count 80", d)
	}
	d = counting.Of([]counting.Tally{{CellID: 1, Count: 100, InTotal: true}, {CellID: 2, Count: 50}, {CellID: 13, Count: 25, NucleatedRed: true}},
		counting.WBC{Value: 80}, 0)
	if d.CorrectedWBC != 64 {
		t.Errorf("differential with nucleated red cells = %+v, want the white cell count 64", d)
	}
}

// TestLimitsAreExact checks the limits against the sum of the distribution's terms.
func TestLimitsAreExact(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		got := counting.Limits(k, n)
		const tail, close = 0.025, 1e-6
		if k > 0 && math.Abs(1-sumTo(k-1, n, got.Lower/100)-tail) > close || k < n && math.Abs(sumTo(k, n, got.Upper/100)-tail) > close {
			t.Fatalf("Limits(%d, %d) = %v, want a probability of %v beyond each", k, n, got, tail)
		}
	})
}

// sumTo returns the probability of at most k successes in n trials, as a sum of terms.
func sumTo(k, n int, p float64) float64 {
	sum := 0.0
	for i := 0; i <= k; i++ {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(i + 1))
		c, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(a - b - c + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

// The limits must round to those of Rümke's table, in whole per cent.
func TestLimitsAreRumkes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ k, n, lower, upper int }{
		{0, 100, 0, 4}, {1, 100, 0, 6}, {5, 100, 1, 12}, {10, 100, 4, 18}, {20, 100, 12, 30}, {50, 100, 39, 61}, {90, 100, 82, 96},
		{0, 200, 0, 2}, {20, 200, 6, 16}, {100, 200, 42, 58}, {0, 500, 0, 1}, {50, 500, 7, 13}, {250, 500, 45, 55},
	} {
		got := counting.Limits(row.k, row.n)
		if math.Floor(got.Lower) != float64(row.lower) || math.Ceil(got.Upper) != float64(row.upper) {
			t.Errorf("%d of %d: %.2f to %.2f, want %d to %d", row.k, row.n, got.Lower, got.Upper, row.lower, row.upper)
		}
	}
}

func TestCompareTellsChanceFromDifference(t *testing.T) {
	t.Parallel()
	agreements := counting.Compare(tallies(60, 30, 10, 0), tallies(55, 33, 12, 0))
	for _, a := range agreements {
		if !a.WithinChance {
			t.Errorf("cell %d: %v and %v are within chance", a.CellID, a.First, a.Second)
		}
	}
	agreements = counting.Compare(tallies(60, 30, 10), []counting.Tally{{CellID: 1, Count: 85, InTotal: true}, {CellID: 4, Count: 15, InTotal: true},
		{CellID: 9, Count: 50}})
	if len(agreements) != 4 || agreements[0].WithinChance || agreements[1].Second != 0 || agreements[3].First != 0 || agreements[3].WithinChance {
		t.Fatalf("agreements = %+v, want 4, the first and the last beyond chance", agreements)
	}
	if got := counting.Compare(nil, tallies(1, 1)); len(got) != 2 || !got[0].WithinChance || got[0].Upper != 100 {
		t.Fatalf("an observer who counted nothing contradicts no one: %+v", got)
	}
}
