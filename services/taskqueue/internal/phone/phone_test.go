package phone_test

import (
	"errors"
	"testing"

	"github.com/labplatform/labplatform/services/taskqueue/internal/phone"
)

func TestANumberBelongsToItsCountryOrIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		country    int
		text, want string // "": refused
	}{
		{91, "9812345678", "+919812345678"},
		{91, "09812345678", "+919812345678"},
		{91, "919812345678", "+919812345678"},
		{91, "+91 98123-45678", "+919812345678"},
		{91, "00919812345678", "+919812345678"},
		{91, "9198123456", "+919198123456"}, // ten digits that begin with the calling code are a national number
		// In countries whose numbers have many lengths, these could also be landline numbers without the calling code.
		{49, "4915112345678", "+4915112345678"},
		{62, "62813760142", "+62813760142"},
		{383, "38343181515", "+38343181515"},
		// Mobile numbers that begin with the calling code of their country are special numbers without it.
		{84, "0846969423", "+84846969423"},
		{84, "846969423", "+84846969423"},
		{84, "84846969423", "+84846969423"},
		{0, "+919812345678", "+919812345678"},
		{0, "00919812345678", "+919812345678"},
		{39, "3123456789", "+393123456789"},
		{225, "0712345678", "+2250712345678"},
		{44, "07911123456", "+447911123456"},
		{44, "447911123456", "+447911123456"},
		{1, "12125551234", "+12125551234"},
		{7, "89161234567", "+79161234567"},
		{65, "92842754", "+6592842754"},
		{91, "0000000001", "+0000000001"}, // special number for simulated sends
		{0, "0000000004", "+0000000004"},

		{0, "9812345678", ""}, // 98 could be the calling code of Iran
		{0, "919812345678", ""},
		{91, "0000000000", ""},
		{91, "0000000005", ""},
		{91, "91919812345678", ""},
		{91, "981234567", ""},
		{91, "98123456789", ""},
		{91, "+447911123456", ""},
		{91, "00447911123456", ""},
		{65, "9812345678", ""},
		{999, "9812345678", ""},
		{91, "1800FLOWERS", ""},
		{91, "", ""},
		{91, "98123;ext=45678", ""},
		{0, "+0812345678", ""},
	} {
		got, err := phone.Parse(c.country, c.text)
		if (err != nil) != (c.want == "") || err == nil && got.E164() != c.want {
			t.Errorf("Parse(%d, %q) = %s, %v; want %q", c.country, c.text, got.E164(), err, c.want)
		}
	}
}

func TestARefusalSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		country int
		text    string
		want    error
	}{
		{0, "9812345678", phone.ErrCountry}, {91, "+447911123456", phone.ErrOther}, {91, "call me", phone.ErrNone},
	} {
		if _, err := phone.Parse(c.country, c.text); !errors.Is(err, c.want) {
			t.Errorf("Parse(%d, %q): %v, want %v", c.country, c.text, err, c.want)
		}
	}
}

func TestALandlineIsToldWhereItCanBe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		country int
		text    string
		want    bool
	}{{91, "2224567890", true}, {91, "9812345678", false}, {1, "2025550123", false}, {44, "2079460958", true}} {
		if got, err := phone.Parse(c.country, c.text); err != nil || got.Landline != c.want {
			t.Errorf("Parse(%d, %q) = %+v, %v; want landline %t", c.country, c.text, got, err, c.want)
		}
	}
}

func TestACountryIsReadWithoutSignsAndZeros(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"91": 91, "+91": 91, "0091": 91, "": 0, "0": 0, "x": -1, "99999999999999999999": -1} {
		if got := phone.Country(text); got != want {
			t.Errorf("Country(%q) = %d, want %d", text, got, want)
		}
	}
}
