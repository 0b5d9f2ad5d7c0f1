// Package search defines the search of patients: the searchable fields, the keys that select fields, the rules for
// requests, and the results. It depends neither on the index nor on a transport.
package search
