// Package rerun owns the domain of testing a sample again: records, values, the flag of a report with its one
// transition table, and the rules that need no store. It is pure.
//
//	0 normal ──request──► 3 requested ──all requested values──► 4 fulfilled
//	    ▲  └──instrument on its own (also from 3 and 4)────────►│  │
//	    │                                          3 ◄──request─┘  │
//	    └────────────── confirm or abort, from 3 and 4 ────────────┘
package rerun
