// Package search defines the search of patients: the searchable fields, the keys that select fields, the rules for
// requests, and the results. It depends on neither the index nor a transport.
package search
