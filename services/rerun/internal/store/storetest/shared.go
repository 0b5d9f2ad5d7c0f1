package storetest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func oneLeads(t *testing.T, b Backend) {
	led := 0
	work := func(ctx context.Context) error {
		led++
		return ctx.Err()
	}
	must(t, b.Reports.Lead(t.Context(), func(ctx context.Context) error { return b.Reports.Lead(ctx, work) }))
	if led != 0 {
		t.Fatal("two lead at once")
	}
	must(t, b.Reports.Lead(t.Context(), work))
	if led != 1 {
		t.Fatal("the lock was not given back")
	}
}

func openSet(t *testing.T, b Backend) {
	for range 2 { // both changes may be repeated
		must(t, b.OpenSet.Set(t.Context(), Scope(t, 12), 7001, true))
		must(t, b.OpenSet.Set(t.Context(), Scope(t, 12), 7002, true))
		must(t, b.OpenSet.Set(t.Context(), Scope(t, 13), 7001, true))
	}
	for range 2 {
		must(t, b.OpenSet.Set(t.Context(), Scope(t, 12), 7002, false))
	}
	for lab, want := range map[int64][]int64{12: {7001}, 13: {7001}, 14: nil} {
		got, err := b.OpenSet.Entries(t.Context(), Scope(t, lab))
		must(t, err)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("laboratory %d: %s", lab, diff)
		}
	}
}
