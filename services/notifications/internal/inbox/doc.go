// Package inbox lists notifications and records their readers.
package inbox
