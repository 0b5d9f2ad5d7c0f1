package distinct_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/distinct"
)

func TestTheFirstOfEqualEntriesStays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ list, want []int }{{nil, []int{}}, {[]int{3, 1, 3, 2, 1}, []int{3, 1, 2}}} {
		if diff := cmp.Diff(c.want, distinct.Of(c.list)); diff != "" {
			t.Errorf("Of(%v) (-want +got):\n%s", c.list, diff)
		}
	}
	if diff := cmp.Diff([]int{1, 1}, distinct.Without([]int{1, 2, 1, 3}, []int{3, 2})); diff != "" {
		t.Errorf("Without (-want +got):\n%s", diff)
	}
}

func TestLongListTakesLinearTime(t *testing.T) {
	t.Parallel()
	list := make([]int, 1_000_000)
	for i := range list {
		list[i] = i
	}
	// Quadratic time would take 10^12 comparisons, longer than the test's time limit.
	if got := len(distinct.Of(list)); got != len(list) {
		t.Errorf("Of kept %d entries, want %d", got, len(list))
	}
	if got := len(distinct.Without(list, list)); got != 0 {
		t.Errorf("Without kept %d entries, want 0", got)
	}
}
