package indexsync_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

func opsOf(n int) []document.Op {
	ops := make([]document.Op, n)
	for i := range ops {
		ops[i] = document.Op{ID: int64(i), Route: 7, Version: 3, Body: []byte(`{"a":1}`)}
	}
	return ops
}

func verdicts(fates []indexsync.Fate) []indexsync.Verdict {
	var out []indexsync.Verdict
	for _, f := range fates {
		out = append(out, f.Verdict)
	}
	return out
}

func ids(ops []document.Op) []int64 {
	var out []int64
	for _, op := range ops {
		out = append(out, op.ID)
	}
	return out
}

func TestOnlyWhatHasNoEndIsSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const w, s, p = indexsync.Written, indexsync.Superseded, indexsync.Poison
		i := &index{script: []func([]document.Op) ([]indexsync.Fate, error){
			say(w, indexsync.Busy, s, indexsync.Later, p), lose, refuse(indexsync.Busy, indexsync.Unsaid), say(indexsync.Busy, w), say(w)}}
		o := &observed{}
		fates, err := newWriter(i, o, config()).Write(t.Context(), "user_details", opsOf(5))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]indexsync.Verdict{w, w, s, w, p}, verdicts(fates)); diff != "" {
			t.Error(diff)
		}
		var sent [][]int64
		for _, r := range i.sent {
			sent = append(sent, ids(r.ops))
		}
		if diff := cmp.Diff([][]int64{{0, 1, 2, 3, 4}, {1, 3}, {1, 3}, {1, 3}, {1}}, sent); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[string]int{"kind": 5, "transport": 2}, o.resent); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPatienceEndsInARetryOfTheBatch(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func([]document.Op) ([]indexsync.Fate, error){
		"busy items":        say(indexsync.Busy),
		"blocked items":     say(indexsync.Later),
		"a busy server":     refuse(indexsync.Busy, indexsync.Unsaid),
		"a lost connection": lose,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				i := &index{}
				for range 1000 {
					i.script = append(i.script, answer)
				}
				begin := time.Now()
				_, err := newWriter(i, &observed{}, config()).Write(t.Context(), "user_details", opsOf(2))
				var fault *outcome.Fault
				if !errors.As(err, &fault) || fault.Operator {
					t.Fatalf("error %v", err)
				}
				// The pauses are 0.1 0.2 0.4 0.8 1.6 2 2 2 s; another one would exceed ten seconds.
				if took := time.Since(begin); took != 9100*time.Millisecond || len(i.sent) != 9 {
					t.Errorf("%d requests in %s", len(i.sent), took)
				}
			})
		})
	}
}

func TestTheEndOfTheContextEndsTheWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		i := &index{script: []func([]document.Op) ([]indexsync.Fate, error){lose, lose, lose, lose}}
		if _, err := newWriter(i, &observed{}, config()).Write(ctx, "user_details", opsOf(1)); err == nil || len(i.sent) != 2 {
			t.Errorf("%d requests, error %v", len(i.sent), err)
		}
	})
}

func TestWhatAPersonHasToMendStopsAtOnce(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func([]document.Op) ([]indexsync.Fate, error){
		"an item":     say(indexsync.Written, indexsync.Broken),
		"the request": refuse(indexsync.Broken, indexsync.Unsaid),
		"no index":    say(indexsync.Gone),
		"nothing":     refuse(indexsync.Gone, indexsync.Unsaid),
	} {
		i := &index{script: []func([]document.Op) ([]indexsync.Fate, error){answer}}
		_, err := newWriter(i, &observed{}, config()).Write(t.Context(), "user_details", opsOf(2))
		var fault *outcome.Fault
		if !errors.As(err, &fault) || !fault.Operator || len(i.sent) != 1 {
			t.Errorf("%s: %d requests, error %v", name, len(i.sent), err)
		}
		if gone := name == "no index" || name == "nothing"; errors.Is(err, indexsync.ErrGone) != gone {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// picky is a fake that rejects requests that contain the given ids or are too long.
type picky struct {
	bad   map[int64]bool
	most  int
	calls int
}

func (p *picky) Bulk(_ context.Context, _ string, ops []document.Op) ([]indexsync.Fate, error) {
	p.calls++
	if p.most > 0 && len(ops) > p.most {
		return nil, &indexsync.Refusal{Verdict: indexsync.Later, Cause: indexsync.TooLarge, Kind: "status_413", Err: errors.New("too large")}
	}
	for _, op := range ops {
		if p.bad[op.ID] {
			return nil, &indexsync.Refusal{Verdict: indexsync.Later, Cause: indexsync.Malformed, Kind: "x", Err: errors.New("malformed")}
		}
	}
	return make([]indexsync.Fate, len(ops)), nil
}

func TestTheOneAtFaultIsFoundByHalving(t *testing.T) {
	t.Parallel()
	for bad := range int64(9) {
		p := &picky{bad: map[int64]bool{bad: true, 7: true}}
		fates, err := newWriter(p, &observed{}, config()).Write(t.Context(), "user_details", opsOf(9))
		if err != nil {
			t.Fatal(err)
		}
		for i, fate := range fates {
			if want := p.bad[int64(i)]; (fate.Verdict == indexsync.Poison) != want || (fate.Verdict == indexsync.Written) == want {
				t.Errorf("bad %d: operation %d: %+v", bad, i, fate)
			}
		}
	}
}

func TestATooLargeRequestIsCutAndATooLargeDocumentIsDead(t *testing.T) {
	t.Parallel()
	p := &picky{most: 3}
	if fates, err := newWriter(p, &observed{}, config()).Write(t.Context(), "user_details", opsOf(50)); err != nil || len(fates) != 50 {
		t.Errorf("%d fates, error %v", len(fates), err)
	}
	i := &index{script: []func([]document.Op) ([]indexsync.Fate, error){refuse(indexsync.Later, indexsync.TooLarge)}}
	fates, err := newWriter(i, &observed{}, config()).Write(t.Context(), "user_details", opsOf(1))
	if err != nil || fates[0].Verdict != indexsync.Poison {
		t.Errorf("fates %+v, error %v", fates, err)
	}
}

func TestARefusalOfEverySingleOperationIsNoPoison(t *testing.T) {
	t.Parallel()
	all := map[int64]bool{}
	for i := range int64(100) {
		all[i] = true
	}
	_, err := newWriter(&picky{bad: all}, &observed{}, config()).Write(t.Context(), "user_details", opsOf(20))
	var fault *outcome.Fault
	if !errors.As(err, &fault) || !fault.Operator {
		t.Errorf("error %v", err)
	}
}

func TestRequestsHaveBounds(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.Operations, cfg.Bytes = 3, 1000
	ops := opsOf(7)
	ops[4].Body = make([]byte, 5000)
	i := &index{}
	if _, err := newWriter(i, &observed{}, cfg).Write(t.Context(), "user_details", ops); err != nil {
		t.Fatal(err)
	}
	var sent [][]int64
	for _, r := range i.sent {
		sent = append(sent, ids(r.ops))
	}
	if diff := cmp.Diff([][]int64{{0, 1, 2}, {3}, {4}, {5, 6}}, sent); diff != "" {
		t.Error(diff)
	}
}

// crowd is a fake that counts concurrent requests.
type crowd struct{ running, most atomic.Int32 }

func (c *crowd) Bulk(_ context.Context, _ string, ops []document.Op) ([]indexsync.Fate, error) {
	now := c.running.Add(1)
	for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
	}
	timer := time.NewTimer(10 * time.Millisecond)
	<-timer.C
	c.running.Add(-1)
	return make([]indexsync.Fate, len(ops)), nil
}

func TestRequestsUnderWayAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{}
		cfg := config()
		cfg.Concurrent = 8
		w := newWriter(c, &observed{}, cfg)
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() { _, _ = w.Write(t.Context(), "user_details", opsOf(1)) })
		}
		all.Wait()
		if most := c.most.Load(); most != 8 {
			t.Errorf("%d requests at once, not 8", most)
		}
	})
}

func TestSettingsThatSendNothingAreRefused(t *testing.T) {
	t.Parallel()
	good := config()
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for i, spoil := range []func(*indexsync.WriterConfig){
		func(c *indexsync.WriterConfig) { c.Operations = 0 }, func(c *indexsync.WriterConfig) { c.Bytes = 0 },
		func(c *indexsync.WriterConfig) { c.Concurrent = 0 }, func(c *indexsync.WriterConfig) { c.FirstRetry = 0 },
		func(c *indexsync.WriterConfig) { c.MaxRetry = 0 }, func(c *indexsync.WriterConfig) { c.Patience = -1 },
	} {
		c := config()
		if spoil(&c); c.Validate() == nil {
			t.Error(fmt.Sprint("setting ", i, " is accepted"))
		}
	}
}
