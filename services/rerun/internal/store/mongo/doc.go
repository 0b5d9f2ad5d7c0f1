// Package mongo opens the document store, with timeouts and write concern, and owns its collections SampleRerun and
// SampleRerunValues.
//
// It needs no transactions, no partial indexes and no atomic updates, which stores that speak the protocol may lack:
// callers hold the report's row lock, and three plain unique indexes are the second line: (lab_report_id, slot) with
// slot "open" or the record's own id, (lab_report_id, auto_slot) with "auto" for the automatic record or the own id,
// (lab_report_id, rerun_number).
package mongo
