// Package segment owns how a text travels as SMS: its alphabet, its length in units, and the number of parts
// that are sent and paid. It is pure.
package segment

import (
	"strings"
	"unicode/utf16"
)

// Alphabet is the encoding of a message.
type Alphabet string

// The alphabets: seven bits with the default GSM table, or sixteen bits.
const (
	GSM7 Alphabet = "GSM-7"
	UCS2 Alphabet = "UCS-2"
)

// Units that fit into the only part, and into each part of several, whose header takes the rest.
const (
	gsmSingle = 160
	gsmMulti  = 153
	ucsSingle = 70
	ucsMulti  = 67
)

const (
	gsmBasic    = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
	gsmExtended = "\f^{}\\[~]|€" // an escape and a character: two septets that stay in one part
)

// Count says how a text travels.
type Count struct {
	Alphabet Alphabet
	Units    int // septets or 16-bit units
	Parts    int // at least 1
}

// Of counts text. One character outside the GSM table makes the whole message UCS-2.
func Of(text string) Count {
	isOutside := func(c rune) bool { return septets(c) == 0 }
	if strings.ContainsFunc(text, isOutside) {
		return pack(text, UCS2, words, ucsSingle, ucsMulti)
	}
	return pack(text, GSM7, septets, gsmSingle, gsmMulti)
}

// septets is the width of c in the GSM table, 0 when the table lacks it.
func septets(c rune) int {
	switch {
	case strings.ContainsRune(gsmBasic, c):
		return 1
	case strings.ContainsRune(gsmExtended, c):
		return 2
	default:
		return 0
	}
}

func words(c rune) int { return max(1, utf16.RuneLen(c)) }

// pack fills parts from the left; a character of two units is never split.
func pack(text string, a Alphabet, width func(rune) int, single, multi int) Count {
	count, used := Count{Alphabet: a, Parts: 1}, 0
	for _, c := range text {
		w := width(c)
		count.Units += w
		if used += w; used > multi {
			count.Parts, used = count.Parts+1, w
		}
	}
	if count.Units <= single {
		count.Parts = 1
	}
	return count
}
