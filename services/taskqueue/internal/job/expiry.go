package job

import "time"

// Evidence is the stored data about a job whose lease expired.
type Evidence struct {
	Crashes int64 // leases lost while a worker had the job
	Losses  int64 // total number of lost leases
	Unseen  bool  // the reply to the claim was lost, so that no worker had the job
	Renewed bool  // the lost lease had been renewed, so the job was running
	Intent  bool  // a paid send had begun under the lost lease
	Resend  bool  // setting of the deployment: an interrupted paid send is repeated; otherwise it ends as unknown
	Cancel  bool  // there is an open request to cancel the job
	NoBody  bool  // the job has no body: it has been cancelled, or is corrupt
}

const (
	crashUnit     = 1000 // both counters are stored in one hash field: crashes × 1000 + losses
	lossesToCrash = 10
	poisonCrashes = 4
)

// UnpackEvidence decodes the stored counters.
func UnpackEvidence(packed int64) Evidence {
	return Evidence{Crashes: packed / crashUnit, Losses: packed % crashUnit}
}

// Packed returns the stored form of the counters.
func (e Evidence) Packed() int64 { return e.Crashes*crashUnit + min(e.Losses, crashUnit-1) }

// Expiry is the decision about an expired lease.
type Expiry uint8

// Decisions about a job whose lease expired.
const (
	ExpireRequeue Expiry = iota // run again
	ExpirePoison                // end as failed: the job lost its worker too often
	ExpireHold                  // end as unknown: a paid send may have been made
	ExpireCancel                // end as cancelled: there is an open request to cancel
	ExpireDrop                  // remove it: there is no body to run
)

// DecideExpiry returns the decision about a job, and the counters to store. A lost lease counts as a crash unless the
// claimer reported that it never received the job, because a job that never ran must not end as poison. From the tenth
// lost lease on, every loss counts.
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

// spreads are the maximum delays with which jobs of a dead worker start again, by number of crashes. A longer delay
// reduces the number of jobs that run together with the one that kills the process.
var spreads = [...]time.Duration{time.Second, time.Second, 10 * time.Second, 30 * time.Second}

// Spread returns the maximum delay before a job that lost its worker runs again.
func (e Evidence) Spread() time.Duration {
	return spreads[min(int(e.Crashes), len(spreads)-1)]
}
