// Package document owns what counts as a Word document and as a PDF: names, content types, signatures and structure. It
// reads, and never trusts what a file says of its own size. Everything that it refuses is apperr.Invalid with a message
// for the person who saved the file.
package document
