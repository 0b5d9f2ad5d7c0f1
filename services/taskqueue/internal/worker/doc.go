// Package worker runs jobs: one fetcher per channel and shard claims jobs into the slots of the channel, renews the
// leases of long jobs, and settles outcomes in batches. The context of a handler ends two seconds before its lease,
// measured on the monotonic clock from before the claim was sent, so that a worker stops before another one may start
// the job.
//
// At shutdown no more jobs are claimed. Running handlers get a grace period. Then their contexts are cancelled, and the
// worker waits for them. A job that did not finish by itself and sent nothing is released without counting an attempt.
package worker
