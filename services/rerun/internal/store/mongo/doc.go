// Package mongo owns the collections SampleRerun and SampleRerunValues of the document store.
//
// It needs no transactions, no partial indexes and no atomic updates: callers hold the report's row lock, and
// three plain unique indexes are the second line: (lab_report_id, slot) with slot "open" or the record's own id,
// (lab_report_id, auto_slot) with "auto" for the automatic record or the own id, (lab_report_id, rerun_number).
package mongo
