// Package userindex owns what the pipeline that writes the index of patients and the search that reads it must agree
// on: the names of the fields that are made of a patient's name and numbers, and the forms that stand in them. A form
// that one side made in another way than the other would be found by nobody.
//
// The forms are made when a document is written, so that a search compares terms instead of trying spellings: names
// joined with their neighbours, names with a letter left out, and identifiers without separators and leading zeros.
//
// It refuses to rank: what a match is worth is the search's own.
package userindex

// Fields that hold forms.
const (
	Joined      = "full_name_joined"    // Names
	Misspelled  = "full_name_deletions" // Deletions of each word
	Sounds      = "full_name_phonetic"  // phonetic.Codes of Latin
	Identifiers = "identifier_forms"    // IdentifierForm of each field and form
)

// MaxForm is the longest form in letters; the index cuts longer ones.
const MaxForm = 20
