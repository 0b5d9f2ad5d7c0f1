package slots

import (
	"testing"

	"pgregory.net/rapid"
)

// The test starts and ends calls of three laboratories in random order. A laboratory without calls must get a slot if
// one is free.
func TestNoLaboratoryTakesTheSlotsOfOthers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(1, 64).Draw(t, "slots")
		s := New[int](total)
		inUse := map[int]int{}
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			who := rapid.IntRange(1, 3).Draw(t, "laboratory")
			used := inUse[1] + inUse[2] + inUse[3]
			if inUse[who] > 0 && rapid.Bool().Draw(t, "ends") {
				s.leave(who)
				inUse[who]--
				continue
			}
			in := s.Take(who) != nil
			switch {
			case in && used >= total:
				t.Fatalf("slots in use = %d of %d, and another call was admitted", used, total)
			case !in && used < total && inUse[who] == 0:
				t.Fatalf("a laboratory without calls is refused with %d of %d slots in use", used, total)
			}
			if in {
				inUse[who]++
			}
		}
	})
}

func TestFloodingOwnerLeavesRoomAndSharesAsItsCallsEnd(t *testing.T) {
	t.Parallel()
	const total = 512
	s := New[string](total)
	flood := func(o string) (n int) {
		for s.Take(o) != nil {
			n++
		}
		return n
	}
	const script, other, third = "12", "13", "core"
	alone := flood(script)
	if alone < total*7/10 || alone > total*3/4+1 {
		t.Errorf("slots of a single laboratory = %d of %d, want about three quarters", alone, total)
	}
	second := flood(other)
	if second == 0 || flood(third) == 0 {
		t.Error("another owner gets no slot beside the first, want at least one")
	}
	for range total { // the first laboratory's calls end one by one, and all owners take what they can
		s.leave(script)
		flood(third)
		flood(other)
		flood(script)
	}
	if a, b := s.inUse[script], s.inUse[other]; b < a*9/10 {
		t.Errorf("slots of the first laboratory = %d, of the second = %d, want about equal", a, b)
	}
}
