// Package phonetic computes codes of the pronunciation of names, by which a search for Mohammed finds Muhammad. The
// indexer stores the codes of names, and a search computes the codes of its text; both must use this package, so that
// the codes match.
//
// A name is folded (case, diacritics) and split into words. Each word is reduced to one spelling, because the usual
// spellings of Indian names in Latin letters differ in long vowels (ee/i, oo/u, aa/a, ou/au/ow), aspirates (th/t, dh/d,
// bh/b, kh/k, gh/g, chh/ch, ph/f), sibilants (sh/s), doubled letters, in w/v, ksh/x, q/k, z/j and dny/gy, in v/b at the
// start and bh/v at the end; Md and Mohd stand for Mohammed. The code of a word of four sounds and more has all of its
// consonants, so that a part of a name does not match another name. The code of a shorter word also has the vowels in
// which spellings agree. Words without Latin letters have no code.
package phonetic
