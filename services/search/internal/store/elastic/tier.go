package elastic

import (
	"strings"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

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
)

var tierNames = [...]string{
	"whole",
	"name",
	"words",
	"last",
	"begins",
	"part",
	"mixed",
	"joined",
	"person",
	"sound",
	"typo",
}

func (t tier) String() string { return tierNames[t] }

// score is what a hit of the tier scores at least; less than twice as much at most.
func (t tier) score() float64 {
	score := 1.0
	for range tierTypo - t {
		score *= 10
	}
	return score
}

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

// tierOf reads what the engine says of a hit: "words/full_name". Names of leaves of mixed queries have the number of
// the word behind that, the query itself has only the tier.
func tierOf(label string) (tier, search.Field, bool) {
	tierName, rest, _ := strings.Cut(label, "/")
	field, _, _ := strings.Cut(rest, "/")
	for t, n := range tierNames {
		if n == tierName {
			return tier(t), search.Field(field), true
		}
	}
	return 0, "", false
}
