package envelope

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Malformed is the error for a message that can never be decoded. It names parts, columns and positions, but never
// contains a value.
type Malformed struct {
	Part   string // "value", "payload", "key", "before", "after" or a column
	What   string // rest of the sentence after Part
	Offset int64  // byte offset at which decoding stopped; 0 if unknown
}

// Error returns Part, What and the position as one sentence.
func (m *Malformed) Error() string {
	if m.Offset == 0 {
		return "malformed event: " + m.Part + " " + m.What
	}
	return fmt.Sprintf("malformed event: %s %s at byte %d", m.Part, m.What, m.Offset)
}

// malformed converts an error of the decoder. It drops the error's text, which may contain input.
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
