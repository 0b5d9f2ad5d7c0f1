package ranking

import (
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// reach is the permitted difference between a word of the text and a word of a name.
type reach uint8

const (
	asTyped reach = iota
	near          // same sound or one typing error
	far           // two typing errors
)

// wordClauses returns the places of each word of the text. It returns nil if the text has a single word and r permits
// no differences, if it has too many words, or if a word has no place.
func (c Compiler) wordClauses(t text, fields []search.Field, r reach) []word {
	pieces := joinDigits(t.words)
	if len(t.words) == 0 || len(pieces) > maxWords || len(pieces) < 2 && r == asTyped {
		return nil
	}
	all := make([]word, 0, len(pieces))
	for _, piece := range pieces {
		t := parse(piece)
		w := make(word, 0, len(fields)+1)
		for _, f := range fields {
			w = append(w, c.places(t, f, r, len(pieces) == 1)...)
		}
		if len(w) == 0 {
			return nil
		}
		all = append(all, w)
	}
	return all
}

// joinDigits joins the parts of a telephone number into one piece.
func joinDigits(of []string) []string {
	var pieces []string
	joined := false
	for _, w := range of {
		digits := phoneDigits(w) != ""
		if digits && joined {
			pieces[len(pieces)-1] += " " + w
			continue
		}
		pieces, joined = append(pieces, w), digits
	}
	return pieces
}

// places returns the places of a word in a field. Equal values are found by the query for prefixes. alone is set if the
// text has no other word.
func (c Compiler) places(piece text, f search.Field, r reach, alone bool) []leaf {
	switch f.Kind() {
	case search.Name:
		return nameLeaves(piece.whole, f, r, alone)
	case search.Phone:
		if len(piece.digits) >= minFirst {
			return []leaf{{f, either(c.phoneParts(piece.digits, f)...), 0.5, nil}}
		}
	case search.Mail:
		if mayBeMail(piece) {
			return []leaf{{f, mailBegins(piece, f), 0.5, nil}}
		}
	case search.Identifier, search.Segmented:
		if texts := comparedTexts(piece, f); len(texts) > 0 {
			return []leaf{{f, identifierPart(texts, f), 0.5, nil}}
		}
	}
	return nil
}

// nameLeaves returns the queries that find a word of the text in the name field f, each with its share of the tier's
// score. alone is set if the text has no other word.
func nameLeaves(piece string, f search.Field, r reach, alone bool) []leaf {
	leaves := []leaf{{f, match(string(f), piece), 0.9, nil}, {f, begun(f, []string{piece}), 0.6, nil}}
	if r == asTyped {
		return leaves
	}
	alike, sounds := soundOf(piece, alone)
	if sounds {
		leaves = append(leaves, leaf{f, alike, 0.3, nil})
	}
	if !mayBeWrong(piece) {
		return leaves
	}
	if wrong, ok := misspelled(piece, alone); ok {
		l := leaf{f, wrong, 0.4, nil}
		if sounds {
			l.nearer = []nearer{{alike, 0.1}}
		}
		leaves = append(leaves, l)
	}
	if r == far && utf8.RuneCountInString(piece) >= minTwo {
		similar := compare(Similar, string(f), piece)
		if latin := userindex.Latin(piece); latin != piece {
			similar = either(similar, compare(Similar, string(f), latin))
		}
		leaves = append(leaves, leaf{f, similar, 0, nil})
	}
	return leaves
}

// soundOf returns a query for names with a word of the same sound or, if the piece has several parts, also with a word
// that begins with the sound of a part. ok is false if the piece has no sound.
func soundOf(piece string, alone bool) (Query, bool) {
	if parts, ok := spoken(piece); ok && len(parts) == 1 {
		return sounding(parts[0], alone)
	}
	return bySound(parse(piece), alone)
}

// sounding returns a query for names that sound like a part of a text. alone is set if the text has no other part. ok
// is false if the part has no sound.
func sounding(part string, alone bool) (Query, bool) {
	var all []Query
	for _, forms := range userindex.SoundTexts(part, alone) {
		all = append(all, Query{Kind: Equals, Field: userindex.Sounds, Texts: forms, Heard: part})
	}
	return every(all...), len(all) > 0
}
