// Package phonetic owns how names sound: the codes by which the index finds Mohammed for Muhammad. The indexer stores
// the codes of a name, a search computes the codes of what was typed; both through this package alone, or they would
// stop to agree.
//
// A name is folded (case, diacritics), split into words, and each word is spelled one way: the usual spellings of
// Indian names in Latin letters differ in long vowels (ee/i, oo/u, aa/a, ou/au/ow), aspirates (th/t, dh/d, bh/b, kh/k,
// gh/g, chh/ch, ph/f), sibilants (sh/s), doubled letters, in w/v, ksh/x, q/k, z/j and dny/gy, in v/b at the beginning
// and bh/v at the end, and Md and Mohd are Mohammed. Then Double Metaphone makes at most two codes of four letters of
// it, and a word that begins with v or b has one more; vowels behind the first letter do not count.
//
// It is meant to find more than the right ones: a search ranks hits by sound below hits by letters. It refuses to guess
// the sound of other scripts: a word without Latin letters has no code.
package phonetic
