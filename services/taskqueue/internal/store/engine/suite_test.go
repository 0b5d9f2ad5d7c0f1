package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// runSuite runs the suite. open returns a new engine with suiteSettings for each part.
func runSuite(t *testing.T, open func(t *testing.T) harness) {
	parts := map[string]func(*fixture){
		"a batch is claimed in request order and settles with a record":      claimAndSettle,
		"the same key and hash returns the same ids, another hash conflicts": idempotency,
		"a batch under its own key is recognised without keeping ids":        ownKey,
		"a full lane refuses the whole batch":                                laneLimit,
		"a scheduled job is never early and tells when it is due":            neverEarly,
		"a late settle is refused and overwrites nothing":                    fencing,
		"a repeated settle changes nothing":                                  repeatedSettle,
		"callbacks are created with the end and only then":                   callbacks,
		"a retry waits with its new body":                                    retries,
		"renewal accepts mine and proposed, and returns cancel requests":     renewal,
		"an expired lease goes back once, and four crashes poison":           reaping,
		"a renewed lease is not reaped":                                      reapRace,
		"a send intent needs a running lease and survives as evidence":       intents,
		"cancel ends waiting jobs and marks running ones":                    cancels,
		"reschedule hits waiting jobs only":                                  moves,
		"a failed job is revived once and keeps its id":                      revival,
		"many failed jobs are revived, each for itself":                      revivals,
		"an unknown job gets the end that an operator found":                 resolution,
		"a window lives as long as its job waits, wherever it is moved":      movedWindow,
		"no one joins a job that ran":                                        leftWindow,
		"a lease is no crash when its claim's answer got lost":               unseenClaims,
		"dead jobs are trimmed only while they are the same death":           trimming,
		"low priorities keep their share under load":                         shares,
		"small claims add up to the shares":                                  smallShares,
		"flows take turns, whichever came first":                             turns,
		"flows at their limits leave the places to the others":               limits,
		"one flow's part of a lane is limited":                               flowLimit,
		"the dead are known by flow":                                         deadByFlow,
		"callbacks of a laboratory are limited":                              callbackLimit,
		"a full laboratory gets first answers and joins only":                fullLaboratory,
		"one-time passwords have a hundredth of the part":                    passwordLimit,
		"urgent notices have a part that no other flow can use":              urgentLimit,
		"a sixteenth of a lane is kept from ordinary flows":                  laneReserve,
		"a job that goes back waits in its own flow":                         keepsFlow,
		"small claims rotate over the priorities":                            rotation,
		"an aged lane shares with the level above":                           ageing,
		"a window joins, overrides and opens again":                          windows,
		"depths count waiting and running":                                   depths,
		"bytes of waiting jobs are estimated by flow":                        sizes,
		"ends wait for the archive until exactly they are forgotten":         ends,
		"how jobs ended is read for many at once":                            howEnded,
		"archived results are forgotten, dead and waiting jobs are not":      forgetting,
		"too many ends hold ordinary jobs back, and no one else's":           fullEnds,
		"a paused flow is claimed from as if it did not wait":                pausedFlows,
		"a send intent of a policy that sends again goes back to its lane":   intentResend,
		"an acknowledgement removes the send intent":                         intentEnds,
		"a walk meets every job once while others come and go":               browsing,
		"a walk keeps to its flow":                                           browsingOneFlow,
		"running and dead jobs are listed":                                   browsingEnds,
		"what waits is counted by hour":                                      ahead,
		"a pause lasts until it is ended":                                    pauses,
		"one of all tries a paused receiver":                                 holding,
		"parked jobs go when their group may, and no one else":               parking,
		"a parked job looks itself when its patience ends":                   parkedUntilItsPatienceEnds,
	}
	for name, part := range parts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			part(newFixture(t, open(t)))
		})
	}
}

var webhook = lane(job.Webhook, job.Moderate)

func claimAndSettle(b *fixture) {
	ids := b.enqueue(webhook, 20, 0)
	c := b.claim(job.Webhook, 250)
	got := make([]job.ID, 0, len(c.Jobs))
	list := make([]engine.Settlement, 0, len(c.Jobs))
	for _, j := range c.Jobs {
		got = append(got, j.ID)
		if body, err := job.DecodeBody(j.Raw); err != nil || body.LabID != 12 {
			b.t.Errorf("body of %s: %v", j.ID, err)
		}
		list = append(list, engine.Settlement{ID: j.ID, Token: c.Token, Op: engine.OpSucceed, Payload: record(job.Finished)})
	}
	if diff := cmp.Diff(ids, got); diff != "" {
		b.t.Errorf("claimed ids (-want +got):\n%s", diff)
	}
	b.wantPlace(ids[0], engine.PlaceLease)
	for i, v := range b.settle(job.Webhook, list...) {
		if v != engine.VerdictDone {
			b.t.Errorf("verdict %d is %v", i, v)
		}
	}
	if s := b.wantPlace(ids[19], engine.PlaceResult); !same(s.Record, record(job.Finished)) {
		b.t.Error("the record differs from what was settled")
	}
	if again := b.claim(job.Webhook, 250); len(again.Jobs) != 0 || again.NextDueMs != -1 {
		b.t.Errorf("an empty channel gave %d jobs, next due %d", len(again.Jobs), again.NextDueMs)
	}
}

func idempotency(b *fixture) {
	batch := func(hash string) engine.Batch {
		return engine.Batch{IdempotencyKey: "k", RequestHash: hash, KeepKey: time.Minute,
			Jobs: []engine.NewJob{{ID: b.id(webhook), Body: []byte("x")}, {ID: b.id(webhook), Body: []byte("y")}}}
	}
	first := b.accept(batch("one"))
	again, err := b.Queue.Enqueue(b.t.Context(), batch("one"))
	if err != nil || !again.Replay {
		b.t.Fatalf("replay: %v, %v", again.Replay, err)
	}
	if diff := cmp.Diff(first, again.IDs); diff != "" {
		b.t.Errorf("replayed ids (-first +again):\n%s", diff)
	}
	if _, err := b.Queue.Enqueue(b.t.Context(), batch("two")); !errors.Is(err, engine.ErrConflict) {
		b.t.Errorf("another request under the key: %v", err)
	}
	if c := b.claim(job.Webhook, 10); len(c.Jobs) != 2 {
		b.t.Errorf("%d jobs were made, want 2", len(c.Jobs))
	}
}

func ownKey(b *fixture) {
	batch := engine.Batch{IdempotencyKey: "own", RequestHash: "h", KeepKey: time.Minute, OwnKey: true,
		Jobs: []engine.NewJob{{ID: b.id(webhook), Body: []byte("x")}, {ID: b.id(webhook), Body: []byte("y")}}}
	first := b.accept(batch)
	c := b.claim(job.Webhook, 9)
	for _, j := range c.Jobs {
		b.settle(job.Webhook,
			engine.Settlement{ID: j.ID, Token: c.Token, Op: engine.OpSucceed, Payload: record(job.Finished)})
	}
	if diff := cmp.Diff(first, b.accept(batch)); diff != "" {
		b.t.Errorf("repeated ids (-first +again):\n%s", diff)
	}
	if again := b.claim(job.Webhook, 9); len(again.Jobs) != 0 {
		b.t.Errorf("a resend ran %d finished jobs again", len(again.Jobs))
	}
}

func laneLimit(b *fixture) {
	b.enqueue(webhook, 1000, 0)
	b.enqueue(webhook, 999, 0)
	over := engine.Batch{IdempotencyKey: "over", RequestHash: "h", KeepKey: time.Minute}
	ids := []job.ID{b.id(lane(job.SMS, job.High)), b.id(webhook), b.id(webhook)}
	for _, id := range ids {
		over.Jobs = append(over.Jobs, engine.NewJob{ID: id, Body: []byte("x")})
	}
	if _, err := b.Queue.Enqueue(b.t.Context(), over); !errors.Is(err, engine.ErrLaneFull) {
		b.t.Fatalf("over the limit: %v", err)
	}
	for _, id := range ids {
		b.wantPlace(id, engine.PlaceNone)
	}
}

func neverEarly(b *fixture) {
	due := b.nowMs() + 500
	id := b.enqueue(webhook, 1, due)[0]
	if c := b.claim(job.Webhook, 5); len(c.Jobs) != 0 || c.NextDueMs != due {
		b.t.Fatalf("before its time: %d jobs, next due %d, want %d", len(c.Jobs), c.NextDueMs, due)
	}
	if s := b.wantPlace(id, engine.PlaceLane); s.DueMs != due {
		b.t.Errorf("due is %d, want %d", s.DueMs, due)
	}
	b.Advance(510 * time.Millisecond)
	if c := b.claim(job.Webhook, 5); len(c.Jobs) != 1 || c.NowMs < due {
		b.t.Errorf("after its time: %d jobs at %d, due %d", len(c.Jobs), c.NowMs, due)
	}
}

func fencing(b *fixture) {
	id := b.enqueue(webhook, 1, 0)[0]
	slow := b.claim(job.Webhook, 1)
	b.Advance(suiteSettings().Lease + 5*time.Millisecond)
	b.reap(job.Webhook)
	fast := b.claim(job.Webhook, 1)
	if len(fast.Jobs) != 1 || fast.Token == slow.Token {
		b.t.Fatalf("the second worker got %d jobs under token %d", len(fast.Jobs), fast.Token)
	}
	late := engine.Settlement{ID: id, Token: slow.Token, Op: engine.OpFail, Payload: record(job.Failed)}
	if v := b.settle(job.Webhook, late); v[0] != engine.VerdictLost {
		b.t.Errorf("late settle: %v", v[0])
	}
	b.wantPlace(id, engine.PlaceLease)
	good := engine.Settlement{ID: id, Token: fast.Token, Op: engine.OpSucceed, Payload: record(job.Finished)}
	if v := b.settle(job.Webhook, good); v[0] != engine.VerdictDone {
		b.t.Errorf("owner's settle: %v", v[0])
	}
	if v := b.settle(job.Webhook, late); v[0] != engine.VerdictAlready {
		b.t.Errorf("late settle of a finished job: %v", v[0])
	}
	if s := b.info(id); !same(s.Record, record(job.Finished)) {
		b.t.Error("a late settle changed the record")
	}
}

func repeatedSettle(b *fixture) {
	b.enqueue(webhook, 2, 0)
	c := b.claim(job.Webhook, 2)
	list := []engine.Settlement{
		{
			ID:        c.Jobs[0].ID,
			Token:     c.Token,
			Op:        engine.OpFail,
			Payload:   record(job.Failed),
			Callbacks: []engine.NewJob{b.child()},
		},
		{ID: c.Jobs[1].ID, Token: c.Token, Op: engine.OpRetry, Delay: time.Hour, Payload: []byte("second")},
	}
	if diff := cmp.Diff([]engine.Verdict{1, 1}, b.settle(job.Webhook, list...)); diff != "" {
		b.t.Errorf("first (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]engine.Verdict{2, 0}, b.settle(job.Webhook, list...)); diff != "" {
		b.t.Errorf("repeated (-want +got):\n%s", diff)
	}
	if got := len(b.claim(job.Callback, 9).Jobs); got != 1 {
		b.t.Errorf("%d callbacks, want 1", got)
	}
}

func (b *fixture) child() engine.NewJob {
	return engine.NewJob{ID: b.id(engine.CallbackLane()), Body: []byte("told")}
}

func callbacks(b *fixture) {
	b.enqueue(webhook, 3, 0)
	c := b.claim(job.Webhook, 3)
	child := b.child()
	b.settle(
		job.Webhook,
		engine.Settlement{
			ID:        c.Jobs[0].ID,
			Token:     c.Token + 1,
			Op:        engine.OpSucceed,
			Payload:   record(job.Finished),
			Callbacks: []engine.NewJob{child},
		},
	)
	b.wantPlace(child.ID, engine.PlaceNone)
	b.settle(
		job.Webhook,
		engine.Settlement{ID: c.Jobs[1].ID, Token: c.Token, Op: engine.OpSucceed, Payload: record(job.Finished)},
		engine.Settlement{
			ID:        c.Jobs[0].ID,
			Token:     c.Token,
			Op:        engine.OpSucceed,
			Payload:   record(job.Finished),
			Callbacks: []engine.NewJob{child},
		},
	)
	b.wantPlace(child.ID, engine.PlaceLane)
	if got := b.claim(job.Callback, 9); len(got.Jobs) != 1 || string(got.Jobs[0].Raw) != "told" {
		b.t.Errorf("claimed %d callbacks", len(got.Jobs))
	}
}

func retries(b *fixture) {
	id := b.enqueue(webhook, 1, 0)[0]
	c := b.claim(job.Webhook, 1)
	b.settle(job.Webhook,
		engine.Settlement{ID: id, Token: c.Token, Op: engine.OpRetry, Delay: 500 * time.Millisecond, Payload: []byte("v2")})
	s := b.wantPlace(id, engine.PlaceLane)
	if string(s.Body) != "v2" || s.DueMs < c.NowMs+500 {
		b.t.Errorf("body %q, due %d ms after the claim", s.Body, s.DueMs-c.NowMs)
	}
	if early := b.claim(job.Webhook, 1); len(early.Jobs) != 0 {
		b.t.Error("the retry ran early")
	}
	b.Advance(520 * time.Millisecond)
	if again := b.claim(job.Webhook, 1); len(again.Jobs) != 1 || string(again.Jobs[0].Raw) != "v2" {
		b.t.Errorf("after the delay: %d jobs", len(again.Jobs))
	}
}
