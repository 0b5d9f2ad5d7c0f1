// Package document validates Word documents and PDFs by name, content type, signature and structure. It never trusts
// the sizes that a file declares. Errors about a file are apperr.Invalid, with a message for the person who saved it.
package document
