// Package clinical evaluates laboratory results against reference ranges: whether a value is outside the normal range,
// whether it is critical, and which age and gender band applies to the patient. All services that evaluate results use
// it, so that they agree. It is pure: it uses no clock, store or log.
//
// A value is parsed as an interval ("<0.4" means everything below 0.4) and classified only if the whole interval is on
// one side of the range. A value that cannot be classified is Undecided, which is neither normal nor abnormal. Bounds
// are inclusive: a value on the bound is inside. Numbers are exact decimals.
//
// Nothing is Inside critical limits by default: a text that is not listed is Undecided, and so is a value of a patient
// whose age or gender is needed and unknown.
package clinical
