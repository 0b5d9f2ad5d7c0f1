// Package clinical owns the judgement of a laboratory result against its reference ranges: is the value outside
// the normal range, is it critical, and which age and gender band applies to the patient. Every service that
// judges results uses it, so that there is one truth. It is pure: no clock, no store, no logging.
//
// A value is read as an interval ("<0.4" is everything below 0.4) and judged only when the whole interval lies
// on one side of the range. Whatever cannot be decided is Undecided, which is never normal and never abnormal.
// Bounds are closed: a value on the bound is inside. Numbers are exact decimals.
package clinical
