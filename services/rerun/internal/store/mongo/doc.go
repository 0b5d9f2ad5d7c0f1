// Package mongo opens the document store, with timeouts and write concern, and reads and writes its collections
// SampleRerun and SampleRerunValues.
//
// It needs no transactions, partial indexes or atomic updates, because compatible stores may lack them. Callers hold
// the report's row lock. In addition, three plain unique indexes prevent duplicates: (lab_report_id, slot) with slot
// "open" or the record's own id, (lab_report_id, auto_slot) with "auto" for the automatic record or the record's own
// id, and (lab_report_id, rerun_number).
package mongo
