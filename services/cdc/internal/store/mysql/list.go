package mysql

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// encodeList returns the text of a JSON column, or nil for an empty list.
func encodeList[T int64 | string](values []T) any {
	if len(values) == 0 {
		return nil
	}
	b := append(make([]byte, 0, 16*len(values)), '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		switch v := any(v).(type) {
		case int64:
			b = strconv.AppendInt(b, v, 10)
		case string:
			b, _ = jsontext.AppendQuote(b, v) // fails only for invalid UTF-8, which it replaces
		}
	}
	return string(append(b, ']'))
}

// listScanner decodes a JSON column. Text that is not a list of its type is read as a list with a zero value. A
// computed row never has such a list, so the row is written again.
type listScanner[T int64 | string] struct{ to *[]T }

// Scan decodes a JSON list. NULL gives a nil slice.
func (l listScanner[T]) Scan(v any) error {
	*l.to = nil
	var raw []byte
	switch v := v.(type) {
	case nil:
		return nil
	case []byte:
		raw = v
	case string:
		raw = []byte(v)
	}
	var list []T
	if err := json.Unmarshal(raw, &list); err != nil {
		list = make([]T, 1)
	}
	if len(list) > 0 {
		*l.to = list
	}
	return nil
}

// validDate returns s if it is a valid date, otherwise "".
func validDate(s string) string {
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return ""
	}
	return s
}
