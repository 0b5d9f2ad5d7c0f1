// Package apidoc tests the documents for client developers on a platform of its own with the demo's data: the API
// document with a validator, generated clients, requests generated from it, and the READMEs' commands.
package apidoc
