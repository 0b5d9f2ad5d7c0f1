package search

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/lab/userindex"
)

// Limits of a request.
const (
	MaxRunes   = 128
	MinName    = 2 // minimum length of a text that is compared only with names
	MaxSize    = 100
	MaxResults = 10_000 // maximum of from + size
)

// Request is a caller's unchecked request. Nil and empty mean absent.
type Request struct {
	Query  string
	Key    string
	Fields []string
	Size   *int
	From   *int
	Page   *int // page number, starting at 1; replaces From
	Cursor string
}

// Query is a checked request.
type Query struct {
	Text     string // trimmed and normalized by userindex.Plain
	Key      Key
	Fields   []Field  // at least one, in the order of Fields
	Identity Identity // for key Duplicate
	Size     int
	From     int
	After    *Cursor // replaces From
}

// NewQuery checks a request. defaultSize is the page size of a request without a size. Errors are of kind Invalid and
// name every invalid field.
func NewQuery(r Request, defaultSize int) (Query, error) {
	q := Query{Text: clean(r.Query), Key: Key(r.Key), Size: defaultSize}
	if r.Key == "" {
		q.Key = All
	}
	var wrong []apperr.Field
	refuse := func(name, format string, args ...any) {
		wrong = append(wrong, apperr.Field{Index: -1, Name: name, Message: fmt.Sprintf(format, args...)})
	}
	q.Fields = q.narrow(r.Fields, refuse)
	q.checkText(refuse)
	q.page(r, refuse)
	q.follow(r, refuse)
	if len(wrong) > 0 {
		return Query{}, apperr.InvalidFields(wrong...)
	}
	return q, nil
}

type refusal func(name, format string, args ...any)

// clean normalizes the text as the index does, and removes the text that mail programs put around an e-mail address.
func clean(text string) string {
	text = userindex.Typed(text)
	if strings.ContainsRune(text, '@') {
		text = strings.TrimSpace(aroundAddress.Replace(text))
	}
	return text
}

var aroundAddress = strings.NewReplacer("mailto:", " ", "<", " ", ">", " ", "(", " ", ")", " ", `"`, " ")

// maxAsked is the maximum number of requested fields. It exceeds the number of fields.
const maxAsked = 100

// narrow returns the requested fields among those of the key, or all of them if none was requested.
func (q *Query) narrow(asked []string, refuse refusal) []Field {
	mapping := q.Key.Fields()
	if mapping == nil {
		refuse("search_key", "search_key must be one of %s", join(Keys()))
		return nil
	}
	if len(asked) == 0 {
		return mapping
	}
	if len(asked) > maxAsked {
		refuse("search_fields", "search_fields: name at most %d fields; search_key %q searches %s", maxAsked, q.Key,
			join(mapping))
		return nil
	}
	for _, name := range asked {
		switch {
		case Field(name).Bucket() == "":
			refuse("search_fields", "search_fields: there is no field %q; search_key %q searches %s", name, q.Key, join(mapping))
		case !slices.Contains(mapping, Field(name)):
			refuse("search_fields", "search_fields: %s is not searched by search_key %q; it searches %s", name, q.Key,
				join(mapping))
		}
	}
	return slices.DeleteFunc(slices.Clone(mapping), func(f Field) bool { return !slices.Contains(asked, string(f)) })
}

func (q *Query) checkText(refuse refusal) {
	runes := utf8.RuneCountInString(q.Text)
	switch {
	case runes == 0:
		refuse("query", "query must not be empty: give a name, a telephone number or an identifier")
	case runes > MaxRunes:
		refuse("query", "query must have at most %d characters", MaxRunes)
	case runes < MinName && len(q.Fields) > 0 &&
		!slices.ContainsFunc(q.Fields, func(f Field) bool { return f.Kind() != Name }):
		refuse("query", "query must have at least %d characters to search names", MinName)
	case q.Key == Duplicate:
		q.Identity = identityOf(q.Text)
		switch {
		case q.Identity.Name == "" || len(q.Identity.Births) == 0 && len(q.Identity.Phones) == 0:
			refuse("query",
				"query must name a person and tell the birth date (1990-02-11 or 11/02/1990) or the telephone number")
		case len(q.Fields) > 0 && !q.identifies():
			refuse("search_fields",
				"search_fields: a search for duplicates compares full_name, and the birth date or the telephone number of query; leave search_fields out")
		}
	}
}

// identifies reports whether the fields include the name and another detail of the person. Otherwise a search for
// duplicates compares nothing, and an empty list would be wrong.
func (q *Query) identifies() bool {
	return slices.Contains(q.Fields, FullName) && slices.ContainsFunc(q.Fields, func(f Field) bool {
		return f == DateOfBirth && len(q.Identity.Births) > 0 || f.Kind() == Phone && len(q.Identity.Phones) > 0
	})
}

func (q *Query) page(r Request, refuse refusal) {
	if r.Size != nil {
		q.Size = *r.Size
	}
	if q.Size < 1 || q.Size > MaxSize {
		refuse("size", "size must be from 1 to %d", MaxSize)
		return
	}
	switch {
	case r.From != nil && r.Page != nil:
		refuse("page", "give from or page, not both")
	case r.From != nil:
		q.From = *r.From
	case r.Page != nil && (*r.Page < 1 || *r.Page > MaxResults/q.Size):
		refuse("page", "page must be from 1 to %d", MaxResults/q.Size)
	case r.Page != nil:
		q.From = (*r.Page - 1) * q.Size
	}
	if q.From < 0 || q.From > MaxResults-q.Size {
		refuse("from", "from must be from 0 to %d with size %d: narrow the search instead of paging deeper",
			MaxResults-q.Size, q.Size)
	}
}

// follow sets the cursor after which the page begins.
func (q *Query) follow(r Request, refuse refusal) {
	if r.Cursor == "" {
		return
	}
	after, err := decodeCursor(r.Cursor, *q)
	switch {
	case r.From != nil || r.Page != nil:
		refuse("cursor", "give cursor, from or page: one of them")
	case err != nil:
		refuse("cursor", "cursor: %v: give next_cursor of the page before, with the same query, search_key and search_fields",
			err)
	default:
		q.After = &after
	}
}

func join[T ~string](names []T) string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = string(n)
	}
	return strings.Join(texts, ", ")
}
