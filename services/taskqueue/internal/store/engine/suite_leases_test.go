package engine_test

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// reap ends all expired leases of a channel, like the service's reaper.
func (b *fixture) reap(c job.Channel) []job.Expiry {
	b.t.Helper()
	list, err := b.Queue.Expired(b.t.Context(), 0, c, 100)
	if err != nil {
		b.t.Fatalf("expired: %v", err)
	}
	var decisions []job.Expiry
	var settlements []engine.Settlement
	for _, e := range list {
		decision, counters := job.DecideExpiry(e.Evidence)
		decisions = append(decisions, decision)
		settlements = append(settlements, reaped(e, decision, counters))
	}
	if len(settlements) == 0 {
		return nil
	}
	if _, err := b.Queue.Reap(b.t.Context(), 0, c, b.lead(), settlements); err != nil {
		b.t.Fatalf("reap: %v", err)
	}
	return decisions
}

// reaped returns the settlement for a decision.
func reaped(e engine.Expired, decision job.Expiry, counters job.Evidence) engine.Settlement {
	s := engine.Settlement{ID: e.ID, Token: e.Token, Op: engine.OpRelease, Counter: counters.Packed()}
	switch decision {
	case job.ExpirePoison:
		s.Op, s.Payload = engine.OpFail, record(job.Failed)
	case job.ExpireHold:
		s.Op, s.Payload = engine.OpUnknown, record(job.Unknown)
	case job.ExpireCancel:
		s.Op, s.Payload = engine.OpCancel, record(job.Cancelled)
	case job.ExpireDrop:
		s.Op = engine.OpDrop
	}
	return s
}

func (b *fixture) renew(c engine.Claim, id job.ID, mine, proposed int64) engine.Renewed {
	b.t.Helper()
	answers, err := b.Queue.Renew(b.t.Context(), 0, id.Lane().Channel,
		[]engine.Renewal{{ID: id, Mine: mine, Proposed: proposed, ClaimedMs: c.NowMs}})
	if err != nil {
		b.t.Fatalf("renew: %v", err)
	}
	return answers[0]
}

func renewal(b *fixture) {
	id := b.enqueue(webhook, 1, 0)[0]
	c := b.claim(job.Webhook, 1)
	next := c.Token + 40_000
	// The second call repeats the first after a lost reply.
	for try, want := range []engine.Renewed{engine.RenewOK, engine.RenewOK} {
		if got := b.renew(c, id, c.Token, next); got != want {
			b.t.Errorf("try %d: %v", try, got)
		}
	}
	if got := b.renew(c, id, c.Token+1, next+1); got != engine.RenewLost {
		b.t.Errorf("a stranger's renewal: %v", got)
	}
	if _, err := b.Queue.Cancel(b.t.Context(),
		[]engine.Cancellation{{ID: id, Record: record(job.Cancelled)}}); err != nil {
		b.t.Fatal(err)
	}
	if got := b.renew(c, id, next, next+1000); got != engine.RenewCancelRequested {
		b.t.Errorf("after a cancel request: %v", got)
	}
	if s := b.info(id); s.ClaimedMs != c.NowMs || s.DeadlineMs != (next+1000)/1000 {
		b.t.Errorf("claimed %d, deadline %d", s.ClaimedMs, s.DeadlineMs)
	}
}

func reaping(b *fixture) {
	id := b.enqueue(webhook, 1, 0)[0]
	var got []job.Expiry
	for range 4 {
		c := b.claim(job.Webhook, 1)
		if len(c.Jobs) != 1 {
			b.t.Fatalf("after %d losses nothing is claimed", len(got))
		}
		b.Advance(suiteSettings().Lease + 5*time.Millisecond)
		got = append(got, b.reap(job.Webhook)...)
	}
	want := []job.Expiry{job.ExpireRequeue, job.ExpireRequeue, job.ExpireRequeue, job.ExpirePoison}
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("decisions (-want +got):\n%s", diff)
	}
	b.wantPlace(id, engine.PlaceResult)
	if !b.dead()[id] {
		b.t.Error("a poisoned job is kept dead")
	}
}

func reapRace(b *fixture) {
	id := b.enqueue(webhook, 1, 0)[0]
	c := b.claim(job.Webhook, 1)
	b.Advance(suiteSettings().Lease + 5*time.Millisecond)
	seen, err := b.Queue.Expired(b.t.Context(), 0, job.Webhook, 10)
	if err != nil || len(seen) != 1 {
		b.t.Fatalf("expired: %d, %v", len(seen), err)
	}
	b.renew(c, id, c.Token, c.Token+3_600_000_000)
	verdicts, err := b.Queue.Reap(b.t.Context(), 0, job.Webhook, b.lead(),
		[]engine.Settlement{reaped(seen[0], job.ExpireRequeue, seen[0].Evidence)})
	if err != nil || verdicts[0] != engine.VerdictLost {
		b.t.Errorf("reaping a renewed lease: %v, %v", verdicts, err)
	}
	fresh := reaped(seen[0], job.ExpireRequeue, seen[0].Evidence)
	fresh.Token = c.Token + 3_600_000_000
	if verdicts, err = b.Queue.Reap(b.t.Context(), 0, job.Webhook, b.lead(), []engine.Settlement{fresh}); err != nil ||
		verdicts[0] != engine.VerdictLost {
		b.t.Errorf("reaping a lease that still runs: %v, %v", verdicts, err)
	}
	b.wantPlace(id, engine.PlaceLease)
}

func intents(b *fixture) {
	sms := lane(job.SMS, job.High)
	id := b.enqueue(sms, 1, 0)[0]
	c := b.claim(job.SMS, 1)
	if ok, err := b.Queue.MarkIntent(b.t.Context(), id, c.Token+1, "p"); ok || err != nil {
		b.t.Errorf("a stranger's intent: %v, %v", ok, err)
	}
	if ok, err := b.Queue.MarkIntent(b.t.Context(), id, c.Token, "p"); !ok || err != nil {
		b.t.Errorf("the owner's intent: %v, %v", ok, err)
	}
	b.Advance(suiteSettings().Lease + 5*time.Millisecond)
	if ok, _ := b.Queue.MarkIntent(b.t.Context(), id, c.Token, "p"); ok {
		b.t.Error("an intent after the deadline must be refused")
	}
	if diff := cmp.Diff([]job.Expiry{job.ExpireHold}, b.reap(job.SMS)); diff != "" {
		b.t.Errorf("decision (-want +got):\n%s", diff)
	}
	b.wantPlace(id, engine.PlaceResult)
}

func intentResend(b *fixture) {
	sms := lane(job.SMS, job.High)
	id := b.enqueue(sms, 1, 0)[0]
	c := b.claim(job.SMS, 1)
	if ok, err := b.Queue.MarkIntent(b.t.Context(), id, c.Token, "p"); !ok || err != nil {
		b.t.Fatalf("intent: %v, %v", ok, err)
	}
	b.Advance(suiteSettings().Lease + 5*time.Millisecond)
	list, err := b.Queue.Expired(b.t.Context(), 0, job.SMS, 9)
	if err != nil || len(list) != 1 || !list[0].Evidence.Intent {
		b.t.Fatalf("expired %+v, %v", list, err)
	}
	list[0].Evidence.Resend = true
	decision, counters := job.DecideExpiry(list[0].Evidence)
	if _, err := b.Queue.Reap(b.t.Context(), 0, job.SMS, b.lead(),
		[]engine.Settlement{reaped(list[0], decision, counters)}); err != nil ||
		decision != job.ExpireRequeue {
		b.t.Fatalf("decision %v, %v", decision, err)
	}
	b.wantPlace(id, engine.PlaceLane)
	b.claim(job.SMS, 1)
	b.Advance(suiteSettings().Lease + 5*time.Millisecond)
	if diff := cmp.Diff([]job.Expiry{job.ExpireRequeue}, b.reap(job.SMS)); diff != "" {
		b.t.Errorf("the mark outlived its lease (-want +got):\n%s", diff)
	}
}

func intentEnds(b *fixture) {
	sms := lane(job.SMS, job.High)
	id := b.enqueue(sms, 1, 0)[0]
	c := b.claim(job.SMS, 1)
	if ok, err := b.Queue.MarkIntent(b.t.Context(), id, c.Token, "p"); !ok || err != nil {
		b.t.Fatalf("intent: %v, %v", ok, err)
	}
	b.settle(job.SMS,
		engine.Settlement{ID: id, Token: c.Token, Op: engine.OpRetry, Payload: (&job.Body{Task: 1, LabID: 12}).Encode(nil)})
	b.claim(job.SMS, 1)
	b.Advance(suiteSettings().Lease + 5*time.Millisecond)
	if diff := cmp.Diff([]job.Expiry{job.ExpireRequeue}, b.reap(job.SMS)); diff != "" {
		b.t.Errorf("the mark of an acknowledged send held the next lease (-want +got):\n%s", diff)
	}
}

// Both engines agree on which jobs may run. The following parts are about shares.

func priorities(claim engine.Claim) map[job.Priority]int {
	count := map[job.Priority]int{}
	for _, j := range claim.Jobs {
		count[j.ID.Lane().Priority]++
	}
	return count
}

func (b *fixture) wantShares(claim engine.Claim, want map[job.Priority]int) {
	b.t.Helper()
	if diff := cmp.Diff(want, priorities(claim)); diff != "" {
		b.t.Errorf("jobs by priority (-want +got):\n%s", diff)
	}
}

func shares(b *fixture) {
	for p := job.Low; p <= job.High; p++ {
		b.enqueue(lane(job.Email, p), 150, 0)
	}
	b.wantShares(b.claim(job.Email, 100), map[job.Priority]int{job.High: 70, job.Moderate: 20, job.Low: 10})
	b.wantShares(b.claim(job.Email, 100), map[job.Priority]int{job.High: 70, job.Moderate: 20, job.Low: 10})
	b.wantShares(b.claim(job.Email, 100), map[job.Priority]int{job.High: 10, job.Moderate: 80, job.Low: 10})
}

func smallShares(b *fixture) {
	for p := job.Low; p <= job.High; p++ {
		b.enqueue(lane(job.Email, p), 150, 0)
	}
	got, turn := map[job.Priority]int{}, 0
	for _, most := range []int{3, 1, 7, 2, 8, 4, 9, 1, 5, 10, 6, 4, 3, 7, 2, 8, 9, 1, 4, 6} { // 100 in all
		claim, err := b.Queue.Claim(b.t.Context(), engine.ClaimRequest{Channel: job.Email, Max: most, Turn: turn})
		if err != nil || len(claim.Jobs) != most {
			b.t.Fatalf("%d of %d jobs, %v", len(claim.Jobs), most, err)
		}
		turn += most
		for p, n := range priorities(claim) {
			got[p] += n
		}
	}
	if got[job.Low] < 9 || got[job.Moderate] < 18 || got[job.High] < 68 {
		b.t.Errorf("a hundred jobs in small claims: %v", got)
	}
}

func rotation(b *fixture) {
	b.enqueue(lane(job.Email, job.High), 30, 0)
	b.enqueue(lane(job.Email, job.Moderate), 30, 0)
	b.enqueue(lane(job.Email, job.Low), 30, 0)
	got := map[job.Priority]int{}
	for range 10 {
		for p, n := range priorities(b.claim(job.Email, 1)) {
			got[p] += n
		}
	}
	if diff := cmp.Diff(map[job.Priority]int{job.High: 7, job.Moderate: 2, job.Low: 1}, got); diff != "" {
		b.t.Errorf("ten claims of one (-want +got):\n%s", diff)
	}
}

func ageing(b *fixture) {
	b.enqueue(lane(job.Email, job.Moderate), 100, 0)
	b.Advance(suiteSettings().Ageing + 20*time.Millisecond)
	b.enqueue(lane(job.Email, job.High), 100, 0)
	b.wantShares(b.claim(job.Email, 100), map[job.Priority]int{job.High: 40, job.Moderate: 60})
}

func depths(b *fixture) {
	b.enqueue(webhook, 5, 0)
	b.claim(job.Webhook, 2)
	measured, err := b.Queue.Depths(b.t.Context(), 0)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, d := range measured.Lanes {
		if d.Lane == webhook && (d.Waiting != 3 || d.Running != 2) {
			b.t.Errorf("waiting %d, running %d", d.Waiting, d.Running)
		}
	}
}

// At its next claim, a claimer reports that the reply to the previous one was lost.
func unseenClaims(b *fixture) {
	ask := func(last int64, doubt bool) engine.Claim {
		b.t.Helper()
		q := engine.ClaimRequest{Channel: job.Webhook, Max: 1, Claimer: "pump", Last: last, Doubt: doubt}
		c, err := b.Queue.Claim(b.t.Context(), q)
		if err != nil {
			b.t.Fatal(err)
		}
		return c
	}
	seen, unseen, other := b.enqueue(webhook, 1, 0)[0], b.enqueue(webhook, 1, 0)[0], b.enqueue(webhook, 1, 0)[0]
	first := ask(0, false)
	ask(first.Token, false) // the reply is lost
	ask(first.Token, true)
	b.Advance(suiteSettings().Lease + 5*time.Millisecond)
	list, err := b.Queue.Expired(b.t.Context(), 0, job.Webhook, 10)
	if err != nil {
		b.t.Fatal(err)
	}
	got := map[job.ID]bool{}
	for _, e := range list {
		got[e.ID] = e.Evidence.Unseen
	}
	if diff := cmp.Diff(map[job.ID]bool{seen: false, unseen: true, other: false}, got); diff != "" {
		b.t.Errorf("claims whose answers got lost (-want +got):\n%s", diff)
	}
}
