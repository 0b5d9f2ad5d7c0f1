package job

import "time"

// Evidence is what the store knows about a job whose lease ran out.
type Evidence struct {
	Crashes int64 // leases lost with the worker that had the job
	Losses  int64 // all leases lost
	Unseen  bool  // the claim's answer got lost: no worker had the job
	Renewed bool  // the lost lease had been renewed: the job was running
	Intent  bool  // a paid send had begun under the lost lease
	Resend  bool  // the deployment's policy: a doubtful send is repeated instead of held
	Cancel  bool  // a cancel request waits
	NoBody  bool  // nothing to run: cancelled meanwhile, or corrupt
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

// Packed is the stored form of the two counters.
func (e Evidence) Packed() int64 { return e.Crashes*crashUnit + min(e.Losses, crashUnit-1) }

// Expiry is the decision about an expired lease.
type Expiry uint8

// The decisions.
const (
	ExpireRequeue Expiry = iota // run again
	ExpirePoison                // it lost its worker too often: failed
	ExpireHold                  // a paid send may have happened: unknown
	ExpireCancel                // a cancel request ends it
	ExpireDrop                  // nothing is left to run
)

// DecideExpiry returns what becomes of the job and the counters to store. A lost lease counts as a crash unless the
// claimer said that it never got the job, which must not poison one that never ran; the tenth such loss counts too.
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

// String is the decision's name in metrics.
func (e Expiry) String() string {
	return [...]string{"requeued", "poisoned", "held", "cancelled", "dropped"}[e]
}

// spreads are how far apart the jobs of a dead worker start again, by their crashes. The longer they are, the fewer
// run beside the one that kills the process.
var spreads = [...]time.Duration{time.Second, time.Second, 10 * time.Second, 30 * time.Second}

// Spread is the longest delay before a job runs again that lost its worker.
func (e Evidence) Spread() time.Duration {
	return spreads[min(int(e.Crashes), len(spreads)-1)]
}
