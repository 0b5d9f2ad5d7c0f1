// Package blob owns the store of files: a folder on one machine, S3 or what speaks its protocol in production.
//
// Every file of a laboratory lies under labs/<id>/ and is reached through Bucket.Lab, which takes a LabScope; what the
// platform shares, as its report templates, is read through Bucket.Shared. A file is there whole or not at all: Put
// ends without one when its source fails, its context ends or the process dies; once Put has returned, the file
// survives a loss of power, in a folder as well: file and folders are synced. What a caller hands in as a URL or a key
// goes through Bucket.Key first.
//
// The package refuses to list or write outside of a laboratory. S3's credentials are the SDK's own: its AWS_ variables,
// or the role of the machine. The caller of Open closes the bucket.
package blob
