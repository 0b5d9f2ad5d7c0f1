// Package audit checks the invariants of the queue's data in Redis, either in a loop over a sliding sample or for all
// jobs at once. Repair turns damaged jobs into dead letters and deletes data without a job.
package audit

import (
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// Rule is the name of an invariant, as in the metric.
type Rule string

// Rules, in the order in which Repair fixes violations.
const (
	Foreign      Rule = "foreign"        // a text that is not a job id, or an id in the wrong place
	TwoPlaces    Rule = "two_places"     // more than one of waiting, running and dead
	EndedAndLive Rule = "ended_and_live" // has a result although it is waiting or running
	NoBody       Rule = "no_body"        // waiting or running without a body
	OrphanBody   Rule = "orphan_body"    // a body of a job that is in no list
	DeadNoBody   Rule = "dead_no_body"   // a dead letter without a body
	DeadNoRecord Rule = "dead_no_record" // a dead letter without a record
	GraveNoDead  Rule = "grave_no_dead"  // the record of a dead letter whose job is not in the list of dead letters
	LeaseFar     Rule = "lease_far"      // a lease that ends later than a claim made now
	LeaseStale   Rule = "lease_stale"    // a lease that expired long ago and was not reaped
	StrayTrace   Rule = "stray_trace"    // a renewal, cancel request or send intent without a lease, or a crash counter of a job that neither waits nor runs
	Unlisted     Rule = "unlisted_flow"  // a flow with waiting jobs that is missing in the ready index or listed too late
)

// Rules returns all rules, in the order in which Repair fixes violations.
func Rules() []Rule {
	return []Rule{Foreign, TwoPlaces, EndedAndLive, NoBody, OrphanBody, DeadNoBody, DeadNoRecord, GraveNoDead, LeaseFar,
		LeaseStale, StrayTrace, Unlisted}
}

const (
	leaseSlack = 2 * time.Second // tolerance between the clock of a renewal and that of Redis
	staleAfter = time.Minute
)

// judge returns the rules that a job violates.
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
