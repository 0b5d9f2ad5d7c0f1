//go:build race

package allocation

// slack multiplies every limit, because with the race detector pools discard objects at random.
const slack = 3
