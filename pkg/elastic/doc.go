// Package elastic owns how a service talks to the search engine: one client with timeouts, a bounded pool, typed
// errors, traces, and repeats of what may be repeated.
//
// It refuses to repeat by itself what is not marked as repeatable: a bulk belongs to a caller who knows which of
// its items still have to be sent. It refuses to print what the engine says about a document or a query: the
// reasons of errors quote them, so Error prints the type alone.
package elastic
