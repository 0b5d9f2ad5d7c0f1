package sms

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/testkit/property"
)

func TestTextsAreCountedAsTheNetworksDo(t *testing.T) {
	t.Parallel()
	a := func(n int) string { return strings.Repeat("a", n) }
	for _, c := range []struct {
		name, text string
		want       length
	}{
		{"nothing", "", length{gsm7, false, 0, 1}},
		{"a full single part", a(160), length{gsm7, false, 160, 1}},
		{"one septet too many", a(161), length{gsm7, false, 161, 2}},
		{"two full parts", a(306), length{gsm7, false, 306, 2}},
		{"three parts", a(307), length{gsm7, false, 307, 3}},
		{"the euro takes two septets", "€", length{gsm7, false, 2, 1}},
		{"extended characters fill a part twice as fast", strings.Repeat("[", 80), length{gsm7, false, 160, 1}},
		{"an escape never ends a part", a(152) + "€" + a(152), length{gsm7, false, 306, 3}},
		{"greek capitals are in the table", "ΔΦΓΛΩΠΨΣΘΞ", length{gsm7, false, 10, 1}},
		{"small c with cedilla is not", "ç", length{ucs2, true, 1, 1}},
		{"a backtick is not", "`", length{ucs2, true, 1, 1}},
		{"typographic quotes are not", "it’s", length{ucs2, true, 4, 1}},
		{"devanagari, a full single part", strings.Repeat("न", 70), length{ucs2, true, 70, 1}},
		{"devanagari, one too many", strings.Repeat("न", 71), length{ucs2, true, 71, 2}},
		{"devanagari, two full parts", strings.Repeat("न", 134), length{ucs2, true, 134, 2}},
		{"devanagari, three parts", strings.Repeat("न", 135), length{ucs2, true, 135, 3}},
		{"an emoji is two units", "😀", length{ucs2, true, 2, 1}},
		{"35 emoji fit", strings.Repeat("😀", 35), length{ucs2, true, 70, 1}},
		{"an emoji is never split", strings.Repeat("न", 66) + "😀" + strings.Repeat("न", 66), length{ucs2, true, 134, 3}},
		{"one foreign character makes all of it wide", a(100) + "न", length{ucs2, true, 101, 2}},
	} {
		if got := lengthOf(c.text); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestPartsHoldAllUnitsAndNoneIsWasted(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab €[न😀")), 0, 600, -1).Draw(t, "text")
		c := lengthOf(text)
		single, multi := 160, 153
		if c.Unicode {
			single, multi = 70, 67
		}
		switch {
		case c.Units <= single && c.Parts != 1:
			t.Fatalf("%d units need one part, not %d", c.Units, c.Parts)
		case c.Units > single && (c.Units > c.Parts*multi || c.Units <= (c.Parts-1)*(multi-1)):
			t.Fatalf("%d units in %d parts of %d", c.Units, c.Parts, multi)
		}
	})
}
