// Package model owns the in-memory double of the engine: the same operations and refusals on plain maps under
// one mutex. It is the reference of the property test and the store of tests that need no Redis; nothing is durable.
package model
