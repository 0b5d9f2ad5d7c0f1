// Package elastic owns the conversation with the index: which plans of package ranking are asked one after the other or
// at once, as what request, within whose scope, and what the engine's answer means.
//
// It refuses query strings, wildcards and patterns: whatever is typed is a literal.
package elastic
