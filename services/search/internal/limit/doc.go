// Package limit owns how much searching is allowed: how many searches a minute someone may make, and how much each may
// cost the index. Operators turn both down by a mode in the cache, without a restart.
package limit

import (
	"strings"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Mode is how much load the index can take, as an operator says.
type Mode string

// The modes.
const (
	Normal    Mode = "normal"
	Degraded  Mode = "degraded"
	Emergency Mode = "emergency"
)

// Modes lists them.
func Modes() []Mode { return []Mode{Normal, Degraded, Emergency} }

// ParseMode reads what an operator wrote; nothing means Normal.
func ParseMode(text string) (Mode, bool) {
	switch m := Mode(strings.TrimSpace(text)); m {
	case "":
		return Normal, true
	case Normal, Degraded, Emergency:
		return m, true
	}
	return "", false
}

// Effort is what a search may cost in the mode.
func (m Mode) Effort() search.Effort {
	switch m {
	case Degraded:
		return search.Reduced
	case Emergency:
		return search.Least
	}
	return search.Full
}
