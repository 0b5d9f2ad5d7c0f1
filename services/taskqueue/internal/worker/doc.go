// Package worker owns the running of jobs: one pump per channel and shard claims into the channel's pool of
// places, renews the leases of long jobs, and settles outcomes in batches. A handler's context ends two seconds
// before its lease does, counted on the monotonic clock from before the claim was sent, so that a worker stops before
// someone else may start the job.
//
// Stopping: no more claims → the running handlers get a grace time → their contexts end → they are waited for
// → what did not end by itself is released without counting an attempt.
package worker
