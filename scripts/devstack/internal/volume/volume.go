// Package volume owns the generator of many patients, bills and reports. Equal parameters give equal rows.
package volume
