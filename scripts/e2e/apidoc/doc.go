// Package apidoc tests the documents for client developers against a platform of its own with the demo data: the API
// document with a validator, generated clients, requests generated from the document, and the commands of the READMEs.
package apidoc
