//go:build race

package allocation

// slack multiplies every limit: the race detector makes pools forget what they hold.
const slack = 3
