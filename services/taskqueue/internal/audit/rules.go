// Package audit owns the invariants of the queue's data: which ones there are, a loop that checks a sliding sample
// of them, a check of everything, and the way out of the queue for what is broken.
package audit

import (
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// Rule names an invariant that is broken.
type Rule string

// The rules, in the order in which a repair goes.
const (
	Foreign      Rule = "foreign"        // a text that is no job id, or an id in the wrong place
	TwoPlaces    Rule = "two_places"     // more than one of waiting, running, dead
	EndedAndLive Rule = "ended_and_live" // a result and still waiting or running
	NoBody       Rule = "no_body"        // waiting or running with nothing to run
	OrphanBody   Rule = "orphan_body"    // a body that is nowhere
	DeadNoBody   Rule = "dead_no_body"   // kept for retryTask without a body
	DeadNoRecord Rule = "dead_no_record" // kept for retryTask without a record
	GraveNoDead  Rule = "grave_no_dead"  // the record of a dead job that is not dead
	LeaseFar     Rule = "lease_far"      // a lease beyond now and its length
	LeaseStale   Rule = "lease_stale"    // a lease that ran out long ago: no one reaps
	StrayTrace   Rule = "stray_trace"    // a counter, request or mark of a job that does not run
	Unlisted     Rule = "unlisted_flow"  // a flow with waiting jobs that its ready index lacks, or lists too late
)

// Rules lists all of them in the order in which a repair goes.
func Rules() []Rule {
	return []Rule{Foreign, TwoPlaces, EndedAndLive, NoBody, OrphanBody, DeadNoBody, DeadNoRecord, GraveNoDead, LeaseFar,
		LeaseStale, StrayTrace, Unlisted}
}

const (
	leaseSlack = 2 * time.Second // between a renewal's clock and Redis's
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
