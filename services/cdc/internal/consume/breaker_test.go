package consume

import (
	"testing"

	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

func dead(n int) []outcome.Result {
	results := make([]outcome.Result, n)
	for i := range results {
		results[i] = outcome.Died("decode", "malformed", nil)
	}
	return results
}

func TestPartitionsThatComeAtOnceDoNotPassTheBreakerTogether(t *testing.T) {
	t.Parallel()
	b := newBreaker(50)
	if b.allow("billing", dead(300)) != nil || b.allow("billing", dead(200)) != nil {
		t.Fatal("half of the window is allowed")
	}
	if b.allow("billing", dead(1)) == nil {
		t.Error("a third partition passes while the letters of two are on their way")
	}
	if b.allow("userDetails", dead(500)) != nil {
		t.Error("another table is kept from its own share")
	}
	b.takeBack("billing", dead(200))
	if b.allow("billing", dead(200)) != nil {
		t.Error("a batch that comes again does not pass")
	}
	b.count("billing", dead(300))
	b.count("billing", dead(200))
	if b.allow("billing", dead(1)) == nil {
		t.Error("counted letters are forgotten")
	}
	b.count("billing", make([]outcome.Result, window))
	if b.allow("billing", dead(500)) != nil {
		t.Error("good records do not end it")
	}
}
