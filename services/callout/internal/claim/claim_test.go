package claim

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

// TestDecisions covers every combination of claim holder and requester.
func TestDecisions(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	asha, vivek := authn.Actor{Kind: authn.ActorLabUser, ID: 77, Name: "Asha"}, authn.Actor{Kind: authn.ActorLabUser, ID: 78, Name: "Vivek"}
	since := now.Add(-4 * time.Minute)
	held := Claim{By: asha, Since: since, Until: since.Add(lasts)}
	fresh := func(by authn.Actor, begun time.Time) Claim { return Claim{By: by, Since: begun, Until: now.Add(lasts)} }
	for name, test := range map[string]struct {
		held      Claim
		by        authn.Actor
		insteadOf time.Time
		want      Claim
		refused   bool
	}{
		"free":                        {Claim{}, asha, time.Time{}, fresh(asha, now), false},
		"free, and seen as held":      {Claim{}, vivek, since, fresh(vivek, now), false},
		"the own one":                 {held, asha, time.Time{}, fresh(asha, since), false},
		"another's":                   {held, vivek, time.Time{}, Claim{}, true},
		"another's, taken over":       {held, vivek, since, fresh(vivek, now), false},
		"another's, of an older view": {held, vivek, since.Add(-time.Minute), Claim{}, true},
	} {
		got, err := Facts{Held: test.held, Now: now}.claimed(test.by, test.insteadOf)
		if got != test.want || apperr.Is(err, apperr.Conflict) != test.refused {
			t.Errorf("%s: %v, %v, want %v, refused %t", name, got, err, test.want, test.refused)
		}
	}
	for name, test := range map[string]struct {
		held    Claim
		by      authn.Actor
		refused bool
	}{"free": {Claim{}, asha, false}, "the own one": {held, asha, false}, "another's": {held, vivek, true}} {
		got, err := Facts{Held: test.held, Now: now}.released(test.by)
		if got != (Claim{}) || apperr.Is(err, apperr.Conflict) != test.refused {
			t.Errorf("given up, %s: %v, %v, want none, refused %t", name, got, err, test.refused)
		}
	}
}
