// Package limit limits how many searches a user may make per minute, how much each may cost the index, and how many
// patients a user may open. Operators can lower the limits of searches with a mode in the cache, without a restart.
package limit

import (
	"strings"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Mode is the load level of the index, set by operators.
type Mode string

// Modes, as stored in the cache.
const (
	Normal    Mode = "normal"
	Degraded  Mode = "degraded"
	Emergency Mode = "emergency"
)

// Modes returns all modes.
func Modes() []Mode { return []Mode{Normal, Degraded, Emergency} }

// ParseMode parses a mode. An empty text means Normal. ok is false for an unknown mode.
func ParseMode(text string) (Mode, bool) {
	switch m := Mode(strings.TrimSpace(text)); m {
	case "":
		return Normal, true
	case Normal, Degraded, Emergency:
		return m, true
	}
	return "", false
}

// Effort returns how much a search may cost in the mode.
func (m Mode) Effort() search.Effort {
	switch m {
	case Degraded:
		return search.Reduced
	case Emergency:
		return search.Least
	}
	return search.Full
}
