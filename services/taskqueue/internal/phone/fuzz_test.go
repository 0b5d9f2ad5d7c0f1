package phone_test

import (
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services/taskqueue/internal/phone"
)

// An international number is written alike when it is read again, and belongs to the country that it was given.
func FuzzAnInternationalNumberStaysAsItIs(f *testing.F) {
	f.Add("91", "9812345678")
	f.Add("+091", "09812345678")
	f.Add("", "00919812345678")
	f.Add("39", "0612345678")
	f.Fuzz(func(t *testing.T, country, number string) {
		if digits := strings.Trim(country+number, "+0123456789"); digits != "" || strings.Contains(number, "+") {
			return // refused before
		}
		e164 := phone.E164(country, number)
		code := phone.Country(country)
		if !strings.HasPrefix(e164, "+"+code) {
			t.Errorf("%s %s became %s", country, number, e164)
		}
		if code != "" && (phone.E164("", e164[1:]) != e164 || !phone.InCountry(code, country, number)) {
			t.Errorf("%s %s became %s, and again %s", country, number, e164, phone.E164("", e164[1:]))
		}
	})
}
