// Package userindex owns what the pipeline that writes the index of patients and the search that reads it must agree
// on: the names of the fields that are made of a patient's name and numbers, and the forms that stand in them. A form
// that one side made in another way than the other would be found by no one.
//
// The forms are made when a document is written, so that a search compares terms instead of trying spellings: names
// joined with their neighbours, names with a letter left out, and identifiers without separators and leading zeros.
//
// It refuses to rank: what a match is worth is the search's own.
package userindex

import "strconv"

// Schema numbers the list of fields and the way in which they are analysed. A change asks for a new number, and for
// `cdc rebuild` wherever the platform runs.
const Schema = 6

// OldSchema is the oldest schema that is still written and searched: the one of the live index, while one of Schema is
// made beside it.
const OldSchema = 5

// Reader is the alias by which searches find an index of a schema, and nothing when the live index is of another one.
// It moves in the same step as the live alias, and is also the one to write by.
func Reader(live string, schema int) string { return live + "_schema" + strconv.Itoa(schema) }

// Families of fields in one, each as its members are: a text that may be any of them is compared once.
const (
	Whole    = "identifiers"         // identifiers and addresses, whole or by their beginning
	Segments = "identifier_segments" // identifiers of orders and samples by one of their parts
	Phones   = "telephones"
	// Compacted are the forms of Identifiers without their fields.
	Compacted = "compact_identifiers"
)

// Fields that hold forms.
const (
	Joined      = "full_name_joined"      // Names
	Misspelled  = "full_name_deletions"   // Deletions of each word
	Sounds      = "full_name_phonetic"    // phonetic.Codes of Latin
	Identifiers = "identifier_forms"      // IdentifierForm of each field and form
	Beginnings  = "identifier_beginnings" // BeginningForms of each field and identifier
)

// What a search of one laboratory reads of each document beside the fields that it compares.
const (
	// VisibleIn is the laboratory that may find the patient; nothing in the document of one who is deleted or gone. One
	// term instead of two filters, and the only one: a document without it is found by no one.
	VisibleIn = "visible_in"
	// Shown is the patient's Card as JSON, kept apart from the document: an answer reads what it shows, and nothing of
	// the forms.
	Shown = "card"
)

// MaxForm is the longest form in letters; the index cuts longer ones.
const MaxForm = 20
