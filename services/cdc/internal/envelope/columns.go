package envelope

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
)

// lists decodes JSON columns, which the connector sends as strings with the stored text. null and the empty list become
// nil.
var lists = json.WithUnmarshalers(json.JoinUnmarshalers(
	json.UnmarshalFunc(func(b []byte, to *[]int64) (err error) { *to, err = listColumn[int64](b); return err }),
	json.UnmarshalFunc(func(b []byte, to *[]string) (err error) { *to, err = listColumn[string](b); return err })))

func listColumn[T int64 | string](b []byte) ([]T, error) {
	var stored string
	if err := json.Unmarshal(b, &stored); err != nil {
		return nil, errColumn("is no JSON column")
	}
	if stored == "" { // null was decoded as an empty string
		return nil, nil
	}
	var list []T
	if err := json.Unmarshal([]byte(stored), &list); err != nil {
		return nil, errColumn("holds no list of the expected kind")
	}
	if len(list) == 0 {
		return nil, nil
	}
	return list, nil
}

// errColumn states what is wrong with a column; malformedColumn adds the column's name.
type errColumn string

func (e errColumn) Error() string { return string(e) }

// malformedColumn converts an error of decoding an image. The JSON pointer in the error is the column's name, because
// images are flat.
func malformedColumn(err error) *Malformed {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return malformed("image", err)
	}
	m := &Malformed{Part: "column " + strings.TrimPrefix(string(semantic.JSONPointer), "/"), What: "has the wrong type"}
	var column errColumn
	if errors.As(err, &column) {
		m.What = string(column)
	}
	return m
}
