// Package phone converts the phone numbers of tasks to international form. It accepts numbers that are valid in their
// country by libphonenumber's rules.
package phone

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// Number is a valid phone number. The zero value means no number.
type Number struct {
	Country int    // calling code, such as 91
	Digits  string // including the calling code, such as 919812345678
	// Landline is set if the number is certainly not a mobile phone.
	Landline bool
}

// E164 returns the number in the form +919812345678.
func (n Number) E164() string { return "+" + n.Digits }

// Reasons why a text is not accepted as a number. They continue a sentence in the error for the caller.
var (
	ErrNone    = errors.New("is not a telephone number: write digits, with + and the country code in front if you like")
	ErrCountry = errors.New("needs countryCode beside it, or must be a text that begins with + and the country code")
	ErrUnknown = errors.New("has a countryCode that no country has")
	ErrOther   = errors.New("begins with the code of another country than countryCode")
)

// reserved matches special numbers that make simulated sends fail. The last digit determines how: 1 temporary, 2
// permanent, 3 slow, 4 unknown.
var reserved = regexp.MustCompile(`^0{5,14}[1-4]$`)

// Reserved reports whether a text is a special number for simulated sends. No phone has such a number.
func Reserved(text string) bool { return reserved.MatchString(text) }

// KnownCountry reports whether a calling code, such as 91, belongs to a country.
func KnownCountry(code int) bool { return regionOf(code) != phonenumbers.UNKNOWN_REGION }

func regionOf(code int) string { return phonenumbers.GetRegionCodeForCountryCode(code) }

// Country parses a calling code, ignoring leading zeros and plus signs. It returns 0 for an empty text and -1 if the
// text is not a number.
func Country(text string) int {
	text = strings.TrimLeft(text, "+0")
	code, err := strconv.Atoi(text)
	if err != nil && text != "" {
		return -1
	}
	return code
}

// International reports whether a number begins with its calling code, after + or 00.
func International(text string) bool {
	return strings.HasPrefix(text, "+") || strings.HasPrefix(text, "00")
}

var (
	written      = regexp.MustCompile(`^\+?[0-9][0-9 ().-]{2,29}$`)
	noSeparators = strings.NewReplacer(" ", "", "(", "", ")", "", ".", "", "-", "")
)

// Parse parses a number of a country, given by its calling code. The number may begin with the calling code or a trunk
// zero. If country is 0, it must begin with + or 00 and the calling code.
func Parse(country int, text string) (Number, error) {
	if Reserved(text) {
		return Number{Digits: text}, nil
	}
	if !written.MatchString(text) {
		return Number{}, ErrNone
	}
	text = noSeparators.Replace(text)
	if rest, found := strings.CutPrefix(text, "00"); found {
		text = "+" + rest
	}
	switch international := text[0] == '+'; {
	case country == 0 && !international:
		return Number{}, ErrCountry
	case country != 0 && !KnownCountry(country):
		return Number{}, ErrUnknown
	case country != 0 && !international && regionOf(country) == phonenumbers.REGION_CODE_FOR_NON_GEO_ENTITY:
		text = "+" + strconv.Itoa(country) + strings.TrimPrefix(text, strconv.Itoa(country))
	}
	national, mobile, valid := read(text, country)
	// In countries whose numbers have many lengths, a number with its calling code may also be a valid landline number
	// without it. A mobile number may begin with the calling code, and be a special number without these digits.
	with, _, ok := read("+"+text, country)
	if ok && text[0] != '+' && with.Country == country && (!valid || !with.Landline && !mobile) {
		return with, nil
	}
	switch {
	case !valid:
		return Number{}, noSuchNumber(country)
	case country != 0 && national.Country != country:
		return Number{}, ErrOther
	}
	return national, nil
}

// read parses a number. mobile is set if it is certainly a mobile phone; ok is false if it is not valid.
func read(text string, country int) (n Number, mobile, ok bool) {
	parsed, err := phonenumbers.Parse(text, regionOf(country))
	if err != nil || !phonenumbers.IsValidNumber(parsed) {
		return Number{}, false, false
	}
	kind := phonenumbers.GetNumberType(parsed)
	return Number{
		Country:  int(parsed.GetCountryCode()),
		Digits:   phonenumbers.Format(parsed, phonenumbers.E164)[1:],
		Landline: kind == phonenumbers.FIXED_LINE,
	}, kind == phonenumbers.MOBILE, true
}

func noSuchNumber(country int) error {
	if country == 0 {
		return errors.New("is not a telephone number of any country")
	}
	return fmt.Errorf("is not a telephone number of the country with code %d", country)
}
