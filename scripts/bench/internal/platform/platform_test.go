package platform

import "testing"

func TestTheScheduleHasEveryShareSpreadEvenly(t *testing.T) {
	t.Parallel()
	got := map[string]int{}
	order := schedule(mix(true))
	for _, one := range order {
		got[one.name]++
	}
	for _, one := range mix(true) {
		if got[one.name] != one.share || one.share == 0 {
			t.Errorf("%s comes %d times of %d", one.name, got[one.name], one.share)
		}
	}
	for i := range 9 {
		if i > 0 && order[i].name == order[i-1].name {
			t.Errorf("%s comes twice in a row", order[i].name)
		}
	}
}
