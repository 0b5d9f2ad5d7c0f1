package ranking

// tier is the closeness of a hit to the typed text.
type tier int

// Tiers, the closest first. The package comment describes them.
const (
	tierWhole tier = iota
	tierName
	tierWords
	tierLast
	tierBegins
	tierPart
	tierMixed
	tierJoined
	tierPerson
	tierSound
	tierTypo
	tierMost
	tiers // number of tiers
)

// score returns the minimum score of a hit in the tier. The maximum is less than twice as high.
func (t tier) score() float64 {
	return scores[t]
}

var scores = [...]float64{1e10, 1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1, 0.1}

// rank groups tiers whose hits compete for a bucket.
func (t tier) rank() int {
	switch t {
	case tierWhole:
		return 0
	case tierName, tierWords, tierLast, tierBegins:
		return 1
	case tierPart:
		return 2
	case tierJoined:
		return 3
	case tierMixed:
		return 4
	}
	return 5
}

const ranks = 6

// tierOf returns the closest tier by which a hit was found. Neither ranking within a tier nor recency lifts a score
// into the next tier.
func tierOf(score float64) tier {
	for t := tierWhole; t < tierMost; t++ {
		if score >= t.score() {
			return t
		}
	}
	return tierMost
}

// IsWhole reports, for the score of a hit, whether one of its identifiers equals the text.
func IsWhole(score float64) bool { return tierOf(score) == tierWhole }

// IsGuess reports, for the score of a hit, whether it was found only by sound, with a typing error or by a part of the
// text.
func IsGuess(score float64) bool { return tierOf(score) >= tierSound }
