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
	widths := make([]uint8, 0, len(text))
	for _, c := range text {
		w := gsmWidth(c)
		if w == 0 {
			return pack(UCS2, wide(text), ucsSingle, ucsMulti)
		}
		widths = append(widths, w)
	}
	return pack(GSM7, widths, gsmSingle, gsmMulti)
}

// gsmWidth is the number of septets of c, 0 when the table lacks it.
func gsmWidth(c rune) uint8 {
	switch {
	case strings.ContainsRune(gsmBasic, c):
		return 1
	case strings.ContainsRune(gsmExtended, c):
		return 2
	default:
		return 0
	}
}

func wide(text string) []uint8 {
	widths := make([]uint8, 0, len(text))
	for _, c := range text {
		widths = append(widths, uint8(max(1, utf16.RuneLen(c))))
	}
	return widths
}

// pack fills parts from the left; a character of two units is never split.
func pack(a Alphabet, widths []uint8, single, multi int) Count {
	count := Count{Alphabet: a, Parts: 1}
	for _, w := range widths {
		count.Units += int(w)
	}
	if count.Units <= single {
		return count
	}
	used := 0
	for _, w := range widths {
		if used+int(w) > multi {
			count.Parts++
			used = 0
		}
		used += int(w)
	}
	return count
}
