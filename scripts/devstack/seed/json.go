package seed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ordered is a JSON object with its keys in the order of the file.
type ordered []member

type member struct {
	key   string
	value json.RawMessage
}

// UnmarshalJSON parses an object or null. A key that appears twice is an error.
func (o *ordered) UnmarshalJSON(text []byte) error {
	*o = nil
	decoder := json.NewDecoder(bytes.NewReader(text))
	start, err := decoder.Token()
	if err != nil || start == nil {
		return err
	}
	if start != json.Delim('{') {
		return errors.New("want an object of lists")
	}
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		m := member{key: fmt.Sprint(token)}
		if seen[m.key] {
			return fmt.Errorf("%q appears twice", m.key)
		}
		seen[m.key] = true
		if err := decoder.Decode(&m.value); err != nil {
			return err
		}
		*o = append(*o, m)
	}
	return nil
}

// scalar is a JSON value as the text that Redis stores.
type scalar string

// UnmarshalJSON keeps numbers as they are written in the file.
func (s *scalar) UnmarshalJSON(text []byte) error {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	switch v := value.(type) {
	case string:
		*s = scalar(v)
	case json.Number, bool:
		*s = scalar(fmt.Sprint(v))
	default:
		*s = scalar(compact(text)) // an object or a list is stored as its JSON text
	}
	return nil
}
