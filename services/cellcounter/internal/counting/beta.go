package counting

import "math"

// atMost returns the probability of at most k successes in n trials with probability p, for 0 ≤ k < n: the regularised
// incomplete beta function I(1-p; n-k, k+1).
func atMost(k, n int, p float64) float64 { return beta(1-p, float64(n-k), float64(k+1)) }

// beta returns the regularised incomplete beta function, computed by its continued fraction (DLMF 8.17.22). The
// fraction converges fast for x below the mean; above it, the symmetry of the function is used.
func beta(x, a, b float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2):
		return 1 - beta(1-x, b, a)
	}
	ab, _ := math.Lgamma(a + b)
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	front := math.Exp(ab - la - lb + a*math.Log(x) + b*math.Log1p(-x))
	value, _ := fraction(x, a, b)
	return min(front*value/a, 1)
}

const (
	maxTerms  = 1000 // 100 suffice for 10,000 cells
	precision = 1e-12
	tiny      = 1e-300 // replaces a divisor of zero
)

// fraction returns the continued fraction of beta, by Lentz's method as modified by Thompson and Barnett, and the
// number of terms used.
func fraction(x, a, b float64) (value float64, terms int) {
	c, d := 1.0, 1/nonzero(1-(a+b)*x/(a+1))
	value = d
	for terms = 1; terms <= maxTerms; terms++ {
		m := float64(terms)
		for _, term := range []float64{
			m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m)),
			-(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1)),
		} {
			d = 1 / nonzero(1+term*d)
			c = nonzero(1 + term/c)
			value *= c * d
		}
		if math.Abs(c*d-1) < precision {
			break
		}
	}
	return value, terms
}

func nonzero(x float64) float64 {
	if math.Abs(x) < tiny {
		return tiny
	}
	return x
}
