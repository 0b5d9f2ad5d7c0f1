// Package seed reads fixtures, in the JSON format that the README describes, and writes them into the stores of a
// running stack. It checks everything before it writes anything, and writes the rows in one transaction.
package seed
