package ranking

// tier is how close a hit is to what was typed.
type tier int

// The tiers, the closest first; the package comment says what they are.
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
	tiers // how many there are
)

// score is what a hit of the tier scores at least; less than twice as much at most.
func (t tier) score() float64 {
	return scores[t]
}

var scores = [...]float64{1e10, 1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1, 0.1}

// rank joins the tiers that compete for the bucket of a hit.
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

// tierOf returns the closest tier by which a hit was found. Neither what ranks within a tier nor recency reaches the
// score of the next one.
func tierOf(score float64) tier {
	for t := tierWhole; t < tierMost; t++ {
		if score >= t.score() {
			return t
		}
	}
	return tierMost
}

// IsWhole reports whether a hit has an identifier that equals the text.
func IsWhole(score float64) bool { return tierOf(score) == tierWhole }

// IsGuess reports whether a hit was only found by a sound or with a typing error.
func IsGuess(score float64) bool { return tierOf(score) >= tierSound }
