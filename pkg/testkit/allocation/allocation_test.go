package allocation_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/allocation"
)

type failures struct {
	testing.TB
	n int
}

func (f *failures) Helper() {}

func (f *failures) Errorf(string, ...any) { f.n++ }

var kept []byte

func TestWhatWasFreedCountsToo(t *testing.T) {
	for pieces, want := range map[int]int{1: 0, 64: 1} {
		f := &failures{TB: t}
		allocation.AtMost(f, 8<<20, func() {
			for range pieces {
				kept = make([]byte, 1<<20)
			}
		})
		if f.n != want {
			t.Errorf("%d MiB in pieces: %d failures, want %d", pieces, f.n, want)
		}
	}
}
