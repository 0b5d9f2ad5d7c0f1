// Package bill contains the rules of bill splitting: amounts in paise, billed tests, which tests may move to a new
// bill, and how the amounts of a bill are divided. It depends on no store, no protobuf and no clock.
//
// Amounts are exact, in whole paise. The original bill keeps the rest of every amount, so nothing is rounded twice and
// the sum of both bills never changes.
package bill
