// Package operate owns what the people who run the platform see of the queue as a whole, and what they do to it: lanes,
// searches, one job's life, what is scheduled ahead, the state of every process; pauses, and actions on many jobs in
// bounded steps. Nothing here shows what a job carries: payloads are of patients, operators need none.
package operate
