// Package ranking determines how close a patient is to a text: what the text is compared with, and how hits are
// ordered. It does no I/O; package store/elastic sends its queries to the search engine.
//
// A text is compiled into clauses. A clause is one way of finding a patient and belongs to a tier. The score of a tier
// is ten times that of the next one. Ranking within a tier multiplies it by less than two and recency by at most five,
// so a hit never reaches the next tier: an equal identifier always ranks above a name, and a name above a sound:
//
//	whole      an identifier or e-mail address equals the text
//	name       the name or telephone number equals the text
//	words      all words of the text are words of the name
//	last       as words, but the last word is the beginning of a word
//	begins     all words are beginnings of words of the name
//	part       the beginning of an identifier or e-mail address, a segment, the first or last digits of a telephone
//	           number
//	mixed      every word of the text is found in some field: "rahul 98765"
//	joined     the name, with words joined or split; an identifier without separators or zeros, or its last segment;
//	           digits from the middle of a telephone number
//	person     the name without titles, relations, and words for sex and age, which only rank; a telephone number that
//	           equals the text without the country code with which it may begin
//	sound      if fewer than ten were found, as is typo: all words sound like words of the name, or begin one
//	typo       as mixed, but words of names may sound alike or have typing errors
//	most       if none was found, or the text has more than a name and a number: most parts of the text, without
//	           labels and the names of relatives
//
// Scores are constants and do not depend on word statistics, which differ between copies of a shard. Pages therefore
// have neither gaps nor duplicates.
package ranking
