// Package apidoc holds the tests of what a client developer is given: the API document with a validator, a TypeScript
// client generated from it, requests made from it, and the READMEs' commands, all against a platform of its own with
// the demo data.
package apidoc
