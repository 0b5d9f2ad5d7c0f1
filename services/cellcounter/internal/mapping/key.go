package mapping

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxKeyLength = 16 // in characters, the width of the column

// reserved keys control the counter: undo, leave, finish, next field.
var reserved = map[string]bool{"backspace": true, "escape": true, "enter": true, "tab": true}

// unusable keys are never reported as a single key press, or leave the page.
var unusable = map[string]bool{
	"dead": true, "process": true, "unidentified": true, "compose": true, "shift": true, "control": true, "alt": true,
	"altgraph": true, "meta": true, "fn": true, "capslock": true, "numlock": true, "scrolllock": true, "f5": true,
}

// Key is the name of a key of a keyboard, as the browser's KeyboardEvent.key names it: a, 1, F2, Space.
type Key struct{ name string }

// NewKey returns the key with a name. The text of its error is shown to users.
func NewKey(name string) (Key, error) {
	trimmed := strings.TrimSpace(name)
	if trimmed == "" && name != "" {
		trimmed = "Space" // the space bar, which the browser names " "
	}
	switch {
	case trimmed == "":
		return Key{}, fmt.Errorf("key must not be empty")
	case !utf8.ValidString(trimmed) || strings.ContainsFunc(trimmed, unprintable):
		return Key{}, fmt.Errorf("key must be one printable key name, like a, 1, F2 or Space")
	case utf8.RuneCountInString(trimmed) > maxKeyLength:
		return Key{}, fmt.Errorf("key must have at most %d characters", maxKeyLength)
	case trimmed == "." || trimmed == "..":
		return Key{}, fmt.Errorf("key %s cannot be mapped: in a path it means another address; choose another one", trimmed)
	case reserved[strings.ToLower(trimmed)]:
		return Key{}, fmt.Errorf("key %s is reserved: the counter itself uses it; choose another one", trimmed)
	case unusable[strings.ToLower(trimmed)]:
		return Key{}, fmt.Errorf("key %s cannot count: browsers do not report it as a press of its own; choose another one",
			trimmed)
	}
	return Key{trimmed}, nil
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) }

// StoredKey returns the key of a name from the database, without checking it.
func StoredKey(name string) Key { return Key{name} }

// String returns the name that was passed to NewKey or StoredKey.
func (k Key) String() string { return k.name }

// fold returns the form in which keys are compared. It ignores case, because Caps Lock must not change a count.
func (k Key) fold() string { return strings.ToLower(k.name) }

// Is reports whether both are the same key, ignoring case.
func (k Key) Is(other Key) bool { return k.fold() == other.fold() }
