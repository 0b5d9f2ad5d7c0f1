//go:build !race

package allocation

// slack multiplies every limit.
const slack = 1
