// Package phone owns how the telephone numbers of tasks become international ones. It is pure.
package phone

import "strings"

// keepsZero are the countries whose numbers keep their leading zero after the country code.
const keepsZero = " 39 225 229 242 378 "

// Country is a country code without zeros and signs in front; "" when there is none.
func Country(code string) string { return strings.TrimLeft(code, "+0") }

// E164 writes a number as +<country><number>. Without a country code the number is taken to hold one, with or
// without 00 in front; with one, the zero that many countries dial inside is dropped.
func E164(country, number string) string {
	country = Country(country)
	if country == "" {
		if rest := strings.TrimPrefix(number, "00"); rest != "" && rest[0] != '0' {
			number = rest
		}
		return "+" + number
	}
	if !strings.Contains(keepsZero, " "+country+" ") {
		number = strings.TrimLeft(number, "0")
	}
	return "+" + country + number
}

// InCountry reports whether a number belongs to the country code: by its own code, or when it has none by its
// first digits, which are unambiguous.
func InCountry(code, country, number string) bool {
	if country = Country(country); country != "" {
		return country == code
	}
	return strings.HasPrefix(E164("", number), "+"+code)
}
