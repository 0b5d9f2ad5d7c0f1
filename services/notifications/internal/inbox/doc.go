// Package inbox lists notifications and keeps who has read what.
package inbox
