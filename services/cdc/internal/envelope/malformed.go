package envelope

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Malformed says what is wrong with a message, for ever. It names parts, columns and positions, never a value.
type Malformed struct {
	Part   string // "value", "payload", "key", "before", "after" or a column
	What   string // completes the sentence that Part begins
	Offset int64  // of the byte where reading stopped, 0 when that does not say anything
}

// Error returns the sentence.
func (m *Malformed) Error() string {
	if m.Offset == 0 {
		return "malformed event: " + m.Part + " " + m.What
	}
	return fmt.Sprintf("malformed event: %s %s at byte %d", m.Part, m.What, m.Offset)
}

// malformed translates the decoder's error, whose own text may quote the input.
func malformed(part string, err error) *Malformed {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return &Malformed{Part: part, What: "is not valid JSON", Offset: syntax.ByteOffset}
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		return &Malformed{Part: part, What: "has a member of the wrong type", Offset: semantic.ByteOffset}
	}
	return &Malformed{Part: part, What: "cannot be read"}
}
