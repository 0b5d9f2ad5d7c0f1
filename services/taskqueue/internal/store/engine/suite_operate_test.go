package engine_test

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

var smsHigh = lane(job.SMS, job.High)

// walk lists a range in pages and calls between after each page.
func walk(b *fixture, q wholeQueue, x engine.Range, most int, between func(page []engine.Member)) (ids []job.ID) {
	b.t.Helper()
	var after engine.Member
	for {
		page, err := q.Browse(b.t.Context(), x, after, most)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, one := range page {
			ids = append(ids, one.ID)
		}
		if len(page) < most {
			return ids
		}
		after = page[len(page)-1]
		between(page)
	}
}

func browsing(b *fixture) {
	q := b.Queue
	want := b.enqueue(smsHigh, 25, b.nowMs()+time.Hour.Milliseconds()) // jobs of one request have the same score
	got := walk(b, q, engine.Range{Lane: smsHigh, Flow: engine.AllFlows}, 4, func(page []engine.Member) {
		record := job.RecordOf(&job.Body{}, job.Cancelled, 1)
		list := []engine.Cancellation{{ID: page[3].ID, Record: record.Encode(nil)}}
		if _, err := q.Cancel(b.t.Context(), list); err != nil {
			b.t.Fatal(err)
		}
		b.enqueue(smsHigh, 1, 0)
	})
	if !cmp.Equal(got, want) {
		b.t.Errorf("the walk met %d jobs, want %d in their order", len(got), len(want))
	}
}

func browsingOneFlow(b *fixture) {
	q := b.Queue
	id := b.id(smsHigh)
	batch := engine.Batch{IdempotencyKey: "flows", RequestHash: "h", KeepKey: time.Minute, Jobs: []engine.NewJob{
		{ID: b.id(smsHigh), Flow: job.LabFlow(11), Body: (&job.Body{LabID: 11, Flow: job.LabFlow(11)}).Encode(nil)},
		{ID: id, Flow: job.LabFlow(12), Body: (&job.Body{LabID: 12, Flow: job.LabFlow(12)}).Encode(nil)},
		{ID: b.id(smsHigh), Flow: job.LabFlow(13), Body: (&job.Body{LabID: 13, Flow: job.LabFlow(13)}).Encode(nil)}}}
	b.accept(batch)
	got := walk(b, q, engine.Range{Lane: smsHigh, Flow: job.LabFlow(12)}, 5, func([]engine.Member) {})
	if !cmp.Equal(got, []job.ID{id}) {
		b.t.Errorf("%v, want %s", got, id)
	}
}

func browsingEnds(b *fixture) {
	q := b.Queue
	ids := b.enqueue(smsHigh, 3, 0)
	claim, err := q.Claim(b.t.Context(), engine.ClaimRequest{Channel: job.SMS, Max: 3})
	if err != nil || len(claim.Jobs) != 3 {
		b.t.Fatal(len(claim.Jobs), err)
	}
	slices.Sort(ids)
	leases := engine.Range{List: engine.ListLeases, Lane: smsHigh}
	if got := walk(b, q, leases, 2, func([]engine.Member) {}); !cmp.Equal(got, ids) {
		b.t.Errorf("running: %v, want %v", got, ids)
	}
	record := job.RecordOf(&job.Body{LabID: 12}, job.Failed, b.nowMs())
	end := []engine.Settlement{{ID: ids[1], Token: claim.Token, Op: engine.OpFail, Payload: record.Encode(nil)}}
	if _, err := q.Settle(b.t.Context(), 0, job.SMS, end); err != nil {
		b.t.Fatal(err)
	}
	if got := walk(b, q, engine.Range{List: engine.ListDead, Flow: engine.AllFlows}, 9, func([]engine.Member) {}); !cmp.Equal(got, ids[1:2]) {
		b.t.Errorf("dead: %v, want %s", got, ids[1])
	}
}

func ahead(b *fixture) {
	q := b.Queue
	first := time.UnixMilli(b.nowMs()).Truncate(time.Hour)
	at := func(hours int) int64 { return first.Add(time.Duration(hours)*time.Hour + 90*time.Second).UnixMilli() }
	b.enqueue(smsHigh, 2, 0) // due already
	b.enqueue(smsHigh, 3, at(2))
	b.enqueue(smsHigh, 4, at(47))
	b.enqueue(smsHigh, 5, at(48))
	got, err := q.Ahead(b.t.Context(), 0, smsHigh, first, 48)
	want := engine.Ahead{Hours: make([]int64, 48), Later: 5}
	want.Hours[2], want.Hours[47] = 3, 4
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		b.t.Error(err, diff)
	}
}

func pauses(b *fixture) {
	q := b.Queue
	at := time.UnixMilli(1_790_000_000_000)
	receiver := engine.ReceiverTarget("https://a.example")
	targets := []engine.Target{engine.ChannelTarget(job.Email), engine.LabTarget(12), receiver}
	want := map[engine.Target]time.Time{}
	for _, target := range targets {
		want[target] = at
		for _, when := range []time.Time{at, at.Add(time.Hour)} { // the second call changes nothing
			if err := q.Pause(b.t.Context(), target, when); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	got, err := q.Paused(b.t.Context(), 0)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		b.t.Error(err, diff)
	}
	for _, target := range targets {
		if err := q.Resume(b.t.Context(), target); err != nil {
			b.t.Fatal(err)
		}
	}
	if got, err = q.Paused(b.t.Context(), 0); err != nil || len(got) != 0 {
		b.t.Errorf("%v are paused after the end, %v", got, err)
	}
}
