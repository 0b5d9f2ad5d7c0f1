// Package blob stores files: in a folder on one machine or, in production, in S3 or a store with its protocol.
//
// Every file of a laboratory has a key below labs/<id>/ and is accessed through Bucket.Lab, which requires a LabScope.
// Files that the platform shares, such as report templates, are read through Bucket.Shared. A file exists completely or
// not at all: Put leaves none if its source fails, its context ends or the process crashes. Once Put has returned, the
// file survives a power failure, also in a folder, because file and folders are synced. URLs and keys from callers are
// checked by Bucket.Key first.
//
// The package cannot list or write outside of a laboratory. Credentials of S3 are those of the SDK: its AWS_ variables,
// or the role of the machine. The caller of Open closes the bucket.
package blob
