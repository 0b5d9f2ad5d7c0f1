// Package rerun contains the rules of testing a sample again: records, values, and the flag of a report with the table
// of its transitions. It depends on no store and no transport.
//
//	0 normal ──request──► 3 requested ──all requested values──► 4 fulfilled
//	    ▲  └──instrument on its own (also from 3 and 4)────────►│  │
//	    │                                          3 ◄──request─┘  │
//	    └────────────── confirm or abort, from 3 and 4 ────────────┘
package rerun
