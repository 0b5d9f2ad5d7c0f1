// Package search owns what a search of patients is: the fields that can be searched, the keys that choose among them,
// what a request must look like, and what an answer says. It knows neither the index nor the wire.
package search
