package counting

// confidence is the confidence level of Rümke's limits.
const confidence = 0.95

// Agreement compares one cell's share in the counts of two observers.
type Agreement struct {
	CellID        int64
	First, Second float64 // in per cent
	Lower, Upper  float64 // in per cent: the range in which the second observer's share lies by chance
	WithinChance  bool
}

// Compare reports for each cell whether two observers' shares differ by more than chance. Shares of a few hundred cells
// have wide limits: a true share of 10 % may be counted as 5 to 18 of 100 cells.
//
// The rule is Rümke's: the 95 per cent confidence limits of a binomial share (C. L. Rümke, "The statistically expected
// variability in differential leukocyte counting", CAP 1978; the table of CLSI H20-A2). The shares agree when each lies
// within the limits of the other, for which the exact (Clopper–Pearson) limits are computed. Cells outside the total
// are left out. A cell that only one observer counted has a count of 0 for the other.
func Compare(first, second []Tally) []Agreement {
	a, order := inTotal(first, nil)
	b, order := inTotal(second, order)
	var list []Agreement
	for _, id := range order {
		x, y := Limits(a.counts[id], a.total), Limits(b.counts[id], b.total)
		p, q := a.percent(id), b.percent(id)
		list = append(list, Agreement{CellID: id, First: p, Second: q, Lower: x.Lower, Upper: x.Upper,
			WithinChance: a.total == 0 || b.total == 0 || (x.contains(q) && y.contains(p))})
	}
	return list
}

type sums struct {
	counts map[int64]int
	total  int
}

func (s sums) percent(id int64) float64 {
	if s.total == 0 {
		return 0
	}
	return 100 * float64(s.counts[id]) / float64(s.total)
}

// inTotal returns the sum of the cells in the total and appends to order the cells that it lacks.
func inTotal(tallies []Tally, order []int64) (sums, []int64) {
	s := sums{counts: map[int64]int{}}
	known := map[int64]bool{}
	for _, id := range order {
		known[id] = true
	}
	for _, t := range tallies {
		if !t.InTotal {
			continue
		}
		s.counts[t.CellID] += t.Count
		s.total += t.Count
		if !known[t.CellID] {
			known[t.CellID] = true
			order = append(order, t.CellID)
		}
	}
	return s, order
}

// Interval is a range in per cent, inclusive at both ends.
type Interval struct{ Lower, Upper float64 }

func (i Interval) contains(percent float64) bool { return i.Lower <= percent && percent <= i.Upper }

// Limits returns the exact 95 per cent confidence limits of a share if k of n cells were counted. For n = 0 they are 0
// and 100 %.
func Limits(k, n int) Interval {
	if n == 0 {
		return Interval{0, 100}
	}
	const tail = (1 - confidence) / 2
	limits := Interval{0, 100}
	if k > 0 { // the lower limit is the share at which k or more cells have probability tail
		limits.Lower = 100 * solve(func(p float64) bool { return 1-atMost(k-1, n, p) < tail })
	}
	if k < n { // the upper limit is the share at which k or fewer cells have probability tail
		limits.Upper = 100 * solve(func(p float64) bool { return atMost(k, n, p) >= tail })
	}
	return limits
}

// solve returns, by bisection, the largest share for which below is true. below must be true up to that share and false
// above it.
func solve(below func(p float64) bool) float64 {
	low, high := 0.0, 1.0
	for range 50 {
		if middle := (low + high) / 2; below(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
