// Package elastic searches the index: it decides which plans of package ranking to send, one after the other or at
// once, limits them to the caller's scope, and converts the engine's responses.
//
// It uses no query strings, wildcards or patterns: typed text is always a literal.
package elastic
