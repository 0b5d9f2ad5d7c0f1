package phone_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/taskqueue/internal/phone"
)

// FuzzAnInternationalNumberStaysAsItIs checks that the international form of a number, in any notation, is parsed to
// the same number.
func FuzzAnInternationalNumberStaysAsItIs(f *testing.F) {
	f.Add(91, "9812345678")
	f.Add(91, "09812345678")
	f.Add(0, "00919812345678")
	f.Add(39, "0612345678")
	f.Add(881, "612345678")
	f.Fuzz(func(t *testing.T, country int, text string) {
		n, err := phone.Parse(country, text)
		if err != nil || phone.Reserved(text) {
			return
		}
		if country != 0 && n.Country != country {
			t.Errorf("Parse(%d, %q) is of country %d", country, text, n.Country)
		}
		for _, c := range []int{0, n.Country} {
			if again, err := phone.Parse(c, n.E164()); err != nil || again != n {
				t.Errorf("Parse(%d, %q) = %+v; its form %s read again: %+v, %v", c, text, n, n.E164(), again, err)
			}
		}
	})
}
