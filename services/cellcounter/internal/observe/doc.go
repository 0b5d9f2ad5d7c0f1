// Package observe keeps the raw counts of up to two observers of one report, and compares them.
package observe
