package lookup

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/lab/userindex"
)

// maxRunes is the maximum length of a number in the tables.
const maxRunes = 64

// Number is a typed or scanned number, in the forms in which the tables may store it.
type Number struct {
	Texts  []string // as entered, in upper and in lower case, without duplicates
	Digits int64    // the number's value; 0 if it contains other characters than digits or is too large for an id
}

var (
	errNoNumber = apperr.InvalidField("number", "Type or scan one number of a patient, bill, order, sample or report.")
	errTooLong  = apperr.InvalidField("number", "A number has at most 64 characters. Type or scan one number at a time.")
)

// ParseNumber parses a number. It converts digits and dashes of any script to ASCII, and ignores control and format
// characters, which some scanners add.
func ParseNumber(text string) (Number, error) {
	text = userindex.Typed(text)
	switch {
	case text == "":
		return Number{}, errNoNumber
	case utf8.RuneCountInString(text) > maxRunes:
		return Number{}, errTooLong
	}
	n := Number{Texts: []string{text}}
	for _, other := range []string{strings.ToUpper(text), strings.ToLower(text)} {
		if !slices.Contains(n.Texts, other) {
			n.Texts = append(n.Texts, other)
		}
	}
	if strings.Trim(text, "0123456789") == "" {
		if value, err := strconv.ParseInt(text, 10, 64); err == nil {
			n.Digits = value
		}
	}
	return n, nil
}
