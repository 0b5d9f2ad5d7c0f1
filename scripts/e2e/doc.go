// Package e2e holds the black-box tests. They send requests to a complete stack of real binaries and engines, through
// the addresses of endpoints.json only.
//
// All tests share one database. Each test gets ids for its bills, reports and other rows from newIDs. Older tests use
// constant ids between 90000 and 99999 and above 900000.
package e2e
