// Package bill is the domain of bill splitting: amounts in paise, billed tests, what may be moved to a new bill, and
// how the amounts of a bill are divided. It is pure: no store, no protobuf, no clock.
//
// Money is exact. Every amount is a whole number of paise; the original bill keeps what the new one does not get, so
// nothing is ever rounded twice and no paisa appears or disappears.
package bill
