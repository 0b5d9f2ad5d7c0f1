package redis_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/rerun/internal/store/redis"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

func TestEachLaboratoryHasItsOwnSet(t *testing.T) {
	t.Parallel()
	set := redis.New(redistest.Start(t).Client())
	for range 2 { // changes are idempotent
		for _, c := range []struct {
			lab, report int64
			open        bool
		}{{12, 7001, true}, {12, 7002, true}, {13, 7001, true}, {12, 7002, false}} {
			if err := set.Set(t.Context(), storetest.Scope(t, c.lab), c.report, c.open); err != nil {
				t.Fatal(err)
			}
		}
	}
	for lab, want := range map[int64][]int64{12: {7001}, 13: {7001}, 14: nil} {
		got, err := set.Entries(t.Context(), storetest.Scope(t, lab))
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("laboratory %d, %v (-want +got):\n%s", lab, err, diff)
		}
	}
}
