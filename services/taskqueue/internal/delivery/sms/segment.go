package sms

import (
	"strings"
	"unicode/utf16"
)

// SMS alphabets: seven bits with the default GSM table, or sixteen bits.
const (
	gsm7 = "GSM-7"
	ucs2 = "UCS-2"
)

// Units in a single part, and in each of several parts, which have a header.
const (
	gsmSingle = 160
	gsmMulti  = 153
	ucsSingle = 70
	ucsMulti  = 67
)

const (
	gsmBasic    = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
	gsmExtended = "\f^{}\\[~]|€" // characters of two septets (escape and character), which must not be split between parts
)

// length describes the length of a text as SMS: alphabet, units, and the number of parts that are sent and charged.
type length struct {
	Alphabet string // GSM-7 or UCS-2
	Unicode  bool   // true if Alphabet is UCS-2
	Units    int    // septets or 16-bit units
	Parts    int    // at least 1
}

// lengthOf returns the length of text. A single character outside the GSM table makes the whole message UCS-2.
func lengthOf(text string) length {
	isOutside := func(c rune) bool { return septets(c) == 0 }
	if strings.ContainsFunc(text, isOutside) {
		return pack(text, ucs2, words, ucsSingle, ucsMulti)
	}
	return pack(text, gsm7, septets, gsmSingle, gsmMulti)
}

// septets returns the width of c in the GSM table, or 0 if it is not in the table.
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

// pack returns the length in units and the number of parts. A character of two units is never split between parts.
func pack(text, alphabet string, width func(rune) int, single, multi int) length {
	l, used := length{Alphabet: alphabet, Unicode: alphabet == ucs2, Parts: 1}, 0
	for _, c := range text {
		w := width(c)
		l.Units += w
		if used += w; used > multi {
			l.Parts, used = l.Parts+1, w
		}
	}
	if l.Units <= single {
		l.Parts = 1
	}
	return l
}
