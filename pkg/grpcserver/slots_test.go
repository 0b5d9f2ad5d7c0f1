package grpcserver

import (
	"testing"

	"pgregory.net/rapid"
)

// TestNoLaboratoryTakesTheSlotsOfOthers draws histories of laboratories that ask and end as they like.
func TestNoLaboratoryTakesTheSlotsOfOthers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(1, 64).Draw(t, "slots")
		s := newSlots(total)
		held := map[owner]int{}
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			who := owner{lab: rapid.Int64Range(1, 3).Draw(t, "laboratory")}
			used := held[owner{lab: 1}] + held[owner{lab: 2}] + held[owner{lab: 3}]
			if held[who] > 0 && rapid.Bool().Draw(t, "ends") {
				s.leave(who)
				held[who]--
				continue
			}
			in := s.enter(who)
			switch {
			case in && used >= total:
				t.Fatalf("%d of %d slots were taken, and one more", used, total)
			case !in && used < total && held[who] == 0:
				t.Fatalf("a laboratory without a call is refused although %d of %d slots are taken", used, total)
			}
			if in {
				held[who]++
			}
		}
	})
}

func TestWhoeverFloodsLeavesRoomAndSharesAsCallsEnd(t *testing.T) {
	t.Parallel()
	const total = 512
	s := newSlots(total)
	flood := func(o owner) (n int) {
		for s.enter(o) {
			n++
		}
		return n
	}
	script, other, third := owner{lab: 12}, owner{lab: 13}, owner{service: "core"}
	alone := flood(script)
	if alone < total*7/10 || alone > total*3/4+1 {
		t.Errorf("one laboratory alone has %d of %d slots", alone, total)
	}
	second := flood(other)
	if second == 0 || flood(third) == 0 {
		t.Error("no room beside the first")
	}
	for range total { // the first laboratory's calls end one by one, and everybody asks again at once
		s.leave(script)
		flood(third)
		flood(other)
		flood(script)
	}
	if a, b := s.held[script], s.held[other]; b < a*9/10 {
		t.Errorf("the first laboratory keeps %d slots, the second has %d", a, b)
	}
}
