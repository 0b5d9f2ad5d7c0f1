// Package audit checks the invariants of the queue's data in Redis: in a loop over a sliding sample, or all jobs at
// once. Repair turns damaged jobs into dead letters and deletes what belongs to no job.
package audit

import (
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// Rule is the name of a broken invariant, as in the metric.
type Rule string

// Rules in the order in which Repair applies them.
const (
	Foreign      Rule = "foreign"        // a text that is no job id, or an id in the wrong place
	TwoPlaces    Rule = "two_places"     // more than one of waiting, running, dead
	EndedAndLive Rule = "ended_and_live" // a result, although waiting or running
	NoBody       Rule = "no_body"        // waiting or running without a body
	OrphanBody   Rule = "orphan_body"    // a body of a job that is in no list
	DeadNoBody   Rule = "dead_no_body"   // kept for retryTask without a body
	DeadNoRecord Rule = "dead_no_record" // kept for retryTask without a record
	GraveNoDead  Rule = "grave_no_dead"  // the record of a dead letter that is not in the list of dead letters
	LeaseFar     Rule = "lease_far"      // a lease that ends later than any claim of now would
	LeaseStale   Rule = "lease_stale"    // a lease that expired long ago and was not reaped
	StrayTrace   Rule = "stray_trace"    // a crash counter, cancel request or other mark of a job that does not run
	Unlisted     Rule = "unlisted_flow"  // a flow with waiting jobs that the ready index lacks, or lists too late
)

// Rules returns all rules in the order in which Repair applies them.
func Rules() []Rule {
	return []Rule{Foreign, TwoPlaces, EndedAndLive, NoBody, OrphanBody, DeadNoBody, DeadNoRecord, GraveNoDead, LeaseFar,
		LeaseStale, StrayTrace, Unlisted}
}

const (
	leaseSlack = 2 * time.Second // tolerance between the clock of a renewal and Redis's
	staleAfter = time.Minute
)

// judge returns the rules that a job breaks.
func judge(f engine.Snapshot, lease time.Duration) (broken []Rule) {
	has := func(bits engine.Traces) bool { return f.Traces&bits != 0 }
	live := has(engine.InLane | engine.InLease)
	when := func(is bool, r Rule) {
		if is {
			broken = append(broken, r)
		}
	}
	places := 0
	for _, bit := range []engine.Traces{engine.InLane, engine.InLease, engine.InDead} {
		if has(bit) {
			places++
		}
	}
	when(places > 1, TwoPlaces)
	when(live && has(engine.HasResult), EndedAndLive)
	when(live && !has(engine.HasBody), NoBody)
	when(has(engine.HasBody) && places == 0, OrphanBody)
	when(has(engine.InDead) && !has(engine.HasBody), DeadNoBody)
	when(has(engine.InDead) && !has(engine.HasGrave), DeadNoRecord)
	when(has(engine.HasGrave) && !has(engine.InDead), GraveNoDead)
	when(f.Token/1000 > f.NowMs+(lease+leaseSlack).Milliseconds(), LeaseFar)
	when(has(engine.InLease) && f.Token/1000 < f.NowMs-staleAfter.Milliseconds(), LeaseStale)
	when(!has(engine.InLease) && has(engine.HasRenewal|engine.HasCancel|engine.HasIntent), StrayTrace)
	when(!live && has(engine.HasCrashes), StrayTrace)
	return broken
}
