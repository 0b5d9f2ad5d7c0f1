// Package userindex defines what the writer and the reader of the patient index must agree on: the names of the fields
// derived from a patient's name and numbers, and the forms stored in them. A form that only one side produces would
// never match.
//
// Forms are computed when a document is written, so that a search compares terms instead of trying variants: words
// joined with their neighbours, words with one letter left out, and identifiers without separators and leading zeros.
//
// Ranking is not part of this package.
package userindex

import "strconv"

// Schema is the version of the list of fields and of their analysis. A change requires a new number, and `cdc rebuild`
// in every installation.
const Schema = 7

// OldSchema is the oldest version that is still written and searched: that of the live index while an index of Schema
// is being built.
const OldSchema = 6

// Reader returns the alias of an index of a schema. It points to nothing while the live index has another schema. It is
// switched together with the live alias, and is used for writing too.
func Reader(live string, schema int) string { return live + "_schema" + strconv.Itoa(schema) }

// Combined fields. Each holds the values of several fields that are indexed alike, so that a text which may match any
// of them is compared once.
const (
	Whole    = "identifiers"         // identifiers and addresses, whole or by prefix
	Segments = "identifier_segments" // identifiers of orders and samples, by their segments
	Phones   = "telephones"
	// Compacted has the forms of Identifiers without the fields' names.
	Compacted = "compact_identifiers"
)

// Fields that contain forms; the comments name the functions that compute them.
const (
	OldSounds   = "full_name_phonetic"    // by OldSoundForms, in place of Sounds in OldSchema
	Joined      = "full_name_joined"      // by Names
	Misspelled  = "full_name_deletions"   // by Deletions, for each word
	Sounds      = "full_name_sounds"      // by SoundForms
	Identifiers = "identifier_forms"      // by IdentifierForm, for each field and form
	Beginnings  = "identifier_beginnings" // by BeginningForms, for each field and identifier
)

// Fields that a search reads in addition to the compared ones.
const (
	// VisibleIn is the laboratory allowed to find the patient; absent for deleted patients, so they match no search. No
	// other filter on laboratory or deletion is needed.
	VisibleIn = "visible_in"
	// Shown is the patient's Card as JSON. It is stored separately from the document, so that a response does not read the
	// forms.
	Shown = "card"
)

// MaxForm is the maximum length of a form in letters; the index cuts longer ones.
const MaxForm = 20
