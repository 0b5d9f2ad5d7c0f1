package phone_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/taskqueue/internal/phone"
)

func TestNumbersBecomeInternational(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ country, number, want string }{
		{"91", "9812345678", "+919812345678"},
		{"91", "09812345678", "+919812345678"},
		{"0091", "9812345678", "+919812345678"},
		{"", "919812345678", "+919812345678"},
		{"", "00919812345678", "+919812345678"},
		{"", "0000000001", "+0000000001"},
		{"", "00", "+00"},
		{"39", "0612345678", "+390612345678"},
		{"225", "0712345678", "+2250712345678"},
		{"44", "07700900123", "+447700900123"},
	} {
		if got := phone.E164(c.country, c.number); got != c.want {
			t.Errorf("E164(%q, %q) = %s, want %s", c.country, c.number, got, c.want)
		}
	}
}

func TestACountryIsKnownByItsCodeOrTheNumbersFirstDigits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code, country, number string
		want                  bool
	}{
		{"91", "91", "9812345678", true},
		{"91", "091", "9812345678", true},
		{"91", "1", "9112345678", false},
		{"91", "", "919812345678", true},
		{"91", "", "00919812345678", true},
		{"91", "", "4479112345", false},
	} {
		if got := phone.InCountry(c.code, c.country, c.number); got != c.want {
			t.Errorf("InCountry(%+v) = %t", c, got)
		}
	}
}
