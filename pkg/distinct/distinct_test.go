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
			t.Errorf("%v (-want +got):\n%s", c.list, diff)
		}
	}
	if diff := cmp.Diff([]int{1, 1}, distinct.Without([]int{1, 2, 1, 3}, []int{3, 2})); diff != "" {
		t.Errorf("without (-want +got):\n%s", diff)
	}
}

func TestALongListCostsAPassAndNotASquare(t *testing.T) {
	t.Parallel()
	list := make([]int, 1_000_000)
	for i := range list {
		list[i] = i
	}
	// A square of this list would be 10^12 comparisons, which no test outlives.
	if got := len(distinct.Of(list)); got != len(list) {
		t.Errorf("%d entries left", got)
	}
	if got := len(distinct.Without(list, list)); got != 0 {
		t.Errorf("%d entries left", got)
	}
}
