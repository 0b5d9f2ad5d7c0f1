// Package observe stores the raw counts of up to two observers for each report and compares them.
package observe
