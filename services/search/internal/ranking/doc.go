// Package ranking owns how close a patient is to a text: what the text is compared with, and in which order. It is
// pure; package store/elastic asks the engine.
//
// A text is compiled into ways of finding a patient. Each way belongs to a tier; the score of a tier is ten times that
// of the next one, and neither what distinguishes hits of one tier (less than twice) nor recency (at most five times)
// bridges that. So an identifier that is equal always stands above a name, and a name above a sound:
//
//	whole      an identifier or email that is equal
//	name       the name or telephone number is equal
//	words      all words of the text are words of the name
//	last       the same, and the last word is the beginning of one
//	begins     all words are beginnings of words of the name
//	part       the beginning of an identifier or email, a segment, the first or last digits of a telephone number
//	mixed      every word of the text is found somewhere: "rahul 98765"
//	joined     the name, when words of it or of the text are joined or apart; an identifier without separators or
//	           zeros, or its last segment; digits from the middle of a telephone number
//	person     the name that stands beside titles, relations, words of sex and of age; those only rank. The telephone
//	           number that is equal without the country code that the text may begin with
//	sound      only if fewer than ten were found, like the next: all words sound like words of the name, or begin one
//	typo       mixed, and words of names may sound alike or have typing errors
//	most       only if no one was found, or the text says more than a name and a number: most of what it says, without
//	           labels and the names of relatives
//
// Scores are constants, without the statistics of words: they are equal on every copy of a shard, and pages have
// neither gaps nor doubles.
package ranking
