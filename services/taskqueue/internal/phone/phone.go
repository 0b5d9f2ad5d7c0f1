// Package phone owns which telephone number a task means: a number that exists in its country by libphonenumber's
// rules, in international form. It is pure.
package phone

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// Number is a telephone number that exists. The zero value is none.
type Number struct {
	Country int    // country calling code, 91
	Digits  string // with the country code, 919812345678
	// Landline is set when the number is known to reach no mobile phone.
	Landline bool
}

// E164 writes the number as +919812345678.
func (n Number) E164() string { return "+" + n.Digits }

// Why a text is no number. Each says to a caller what to do.
var (
	ErrNone    = errors.New("is not a telephone number: write digits, with + and the country code in front if you like")
	ErrCountry = errors.New("needs countryCode beside it, or must be a text that begins with + and the country code")
	ErrUnknown = errors.New("has a countryCode that no country has")
	ErrOther   = errors.New("begins with the code of another country than countryCode")
)

// reserved matches the numbers that make the mailbox fail. Their last digit chooses how: 1 temporary, 2 permanent, 3
// slow, 4 unknown.
var reserved = regexp.MustCompile(`^0{5,14}[1-4]$`)

// Reserved reports whether a text is a number of the mailbox. No telephone has it.
func Reserved(text string) bool { return reserved.MatchString(text) }

// KnownCountry reports whether a calling code, 91, belongs to a country.
func KnownCountry(code int) bool { return regionOf(code) != phonenumbers.UNKNOWN_REGION }

func regionOf(code int) string { return phonenumbers.GetRegionCodeForCountryCode(code) }

// Country is a country calling code without zeros and signs in front: 0 when there is none, -1 when it is no number.
func Country(text string) int {
	text = strings.TrimLeft(text, "+0")
	code, err := strconv.Atoi(text)
	if err != nil && text != "" {
		return -1
	}
	return code
}

// International reports whether a number tells its country by itself.
func International(text string) bool {
	return strings.HasPrefix(text, "+") || strings.HasPrefix(text, "00")
}

var (
	written      = regexp.MustCompile(`^\+?[0-9][0-9 ().-]{2,29}$`)
	noSeparators = strings.NewReplacer(" ", "", "(", "", ")", "", ".", "", "-", "")
)

// Parse reads a number that is given with country's calling code, with or without the code or a trunk zero in front.
// With country 0 the text itself must tell it, by + or 00.
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
	national, valid := read(text, country)
	// In countries whose numbers have many lengths, one with its code in front may also be a landline of that country.
	if with, ok := read("+"+text, country); ok && text[0] != '+' && with.Country == country && (!valid || !with.Landline) {
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

// read returns a number that exists.
func read(text string, country int) (n Number, ok bool) {
	parsed, err := phonenumbers.Parse(text, regionOf(country))
	if err != nil || !phonenumbers.IsValidNumber(parsed) {
		return Number{}, false
	}
	return Number{
		Country:  int(parsed.GetCountryCode()),
		Digits:   phonenumbers.Format(parsed, phonenumbers.E164)[1:],
		Landline: phonenumbers.GetNumberType(parsed) == phonenumbers.FIXED_LINE,
	}, true
}

func noSuchNumber(country int) error {
	if country == 0 {
		return errors.New("is not a telephone number of any country")
	}
	return fmt.Errorf("is not a telephone number of the country with code %d", country)
}
