package rebuild

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// full is a fake engine with a nearly full disk: it accepts a merge but does not start it.
type full struct{ Index }

func (full) Next() string { return "patients_next" }

func (full) Compact(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestARebuildGoesOnWithoutAMergeThatNeverBegins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		begin := time.Now()
		New(Deps{Index: full{}, Out: &said}).compact(t.Context(), "patients_2")
		if took := time.Since(begin); took != longestMerge {
			t.Errorf("the merge was waited for %s", took)
		}
		if !strings.Contains(said.String(), "are not merged") {
			t.Errorf("the operator reads %q", said.String())
		}
	})
}
