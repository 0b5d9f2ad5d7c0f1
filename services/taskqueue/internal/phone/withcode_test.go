package phone_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/taskqueue/internal/phone"
)

// A number that holds its country code is the same telephone, also where numbers have many lengths.
func TestANumberWithItsCountryCodeIsNotReadAsALandlineOfThatCountry(t *testing.T) {
	t.Parallel()
	for country, text := range map[int]string{49: "4915112345678", 62: "62813760142", 383: "38343181515"} {
		got, err := phone.Parse(country, text)
		if err == nil && got.Digits != text {
			t.Errorf("country %d, %s: read as +%s, landline %t", country, text, got.Digits, got.Landline)
		}
	}
}
