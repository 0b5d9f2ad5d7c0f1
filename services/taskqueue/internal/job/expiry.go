package job

import "time"

// Evidence is what the store knows about a job whose lease expired.
type Evidence struct {
	Crashes int64 // leases lost while a worker had the job
	Losses  int64 // all leases lost
	Unseen  bool  // the reply of the claim was lost: no worker had the job
	Renewed bool  // the lost lease had been renewed: the job was running
	Intent  bool  // a paid send had begun under the lost lease
	Resend  bool  // the deployment's policy: an interrupted paid send is repeated instead of ended as unknown
	Cancel  bool  // a request to cancel the job is open
	NoBody  bool  // the job has no body: it was cancelled meanwhile, or is corrupt
}

const (
	crashUnit     = 1000 // stored counter = crashes × 1000 + losses, one hash field per job
	lossesToCrash = 10
	poisonCrashes = 4
)

// UnpackEvidence reads the stored counter.
func UnpackEvidence(packed int64) Evidence {
	return Evidence{Crashes: packed / crashUnit, Losses: packed % crashUnit}
}

// Packed returns the stored form of the two counters.
func (e Evidence) Packed() int64 { return e.Crashes*crashUnit + min(e.Losses, crashUnit-1) }

// Expiry is the decision about an expired lease.
type Expiry uint8

// Decisions about a job whose lease expired. String returns their names.
const (
	ExpireRequeue Expiry = iota // run again
	ExpirePoison                // end as failed: the job lost its worker too often
	ExpireHold                  // end as unknown: a paid send may have happened
	ExpireCancel                // end as cancelled: a request to cancel is open
	ExpireDrop                  // remove it: there is no body to run
)

// DecideExpiry returns the decision about a job and the counters to store. A lost lease counts as a crash unless the
// claimer reported that it never received the job: a job that never ran must not be ended as poison. From the tenth
// lost lease on each one counts.
func DecideExpiry(e Evidence) (Expiry, Evidence) {
	if e.NoBody {
		return ExpireDrop, e
	}
	e.Losses++
	if !e.Unseen || e.Renewed || e.Intent || e.Losses >= lossesToCrash {
		e.Crashes++
	}
	switch {
	case e.Intent && !e.Resend:
		return ExpireHold, e
	case e.Cancel:
		return ExpireCancel, e
	case e.Crashes >= poisonCrashes:
		return ExpirePoison, e
	default:
		return ExpireRequeue, e
	}
}

// String returns the decision's name in metrics.
func (e Expiry) String() string {
	return [...]string{"requeued", "poisoned", "held", "cancelled", "dropped"}[e]
}

// spreads are the delays over which the jobs of a dead worker start again, by their number of crashes. The longer the
// delay, the fewer jobs run at the same time as the one that kills the process.
var spreads = [...]time.Duration{time.Second, time.Second, 10 * time.Second, 30 * time.Second}

// Spread returns the longest delay before a job that lost its worker runs again.
func (e Evidence) Spread() time.Duration {
	return spreads[min(int(e.Crashes), len(spreads)-1)]
}
