package rebuild_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/cdc/internal/rebuild"
	"github.com/labplatform/labplatform/services/cdc/internal/reconcile"
)

// late is a fake proof. Each of its first comparisons finds a patient of laboratory 7 with an outdated document.
type late struct {
	rebuild.Proof
	patient func(comparison int) int64 // 0: none
	calls   *int
}

func (l late) Compare(ctx context.Context, lab authn.LabScope, progress func(reconcile.Count)) (reconcile.Result, error) {
	result, err := l.Proof.Compare(ctx, lab, progress)
	if lab.LabID() != 7 || err != nil {
		return result, err
	}
	*l.calls++
	if id := l.patient(*l.calls); id != 0 {
		result.Differences = append(result.Differences, reconcile.Difference{Kind: reconcile.Stale, LabID: 7, UserID: id, Rev: 1})
	}
	return result, nil
}

// TestPatientsWhoseChangesAreLateHoldUpARebuildAndOneWhoStaysWrongEndsIt checks that other patients with outdated
// documents in each comparison, as with a slow pipeline, delay the swap. A patient that is still outdated after repairs
// must stop it.
func TestPatientsWhoseChangesAreLateHoldUpARebuildAndOneWhoStaysWrongEndsIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patient func(comparison int) int64
		calls   int
		swapped bool
	}{
		"no one": {func(int) int64 { return 0 }, 1, true},
		"others each time": {func(n int) int64 {
			if n <= 9 {
				return int64(n)
			}
			return 0
		}, 10, true},
		"one who stays":            {func(int) int64 { return 9 }, 3, false},
		"others, and no end of it": {func(n int) int64 { return int64(n) }, 20, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := small(t)
			var out bytes.Buffer
			calls := 0
			d := deps(p, &out)
			d.Proof = func(target string) rebuild.Proof { return late{proof(p, target), c.patient, &calls} }
			err := rebuild.New(d).Run(t.Context())
			if errors.Is(err, rebuild.ErrDiffers) == c.swapped || calls != c.calls || (live(t, p) == "v2") != c.swapped {
				t.Errorf("%d comparisons, live is %s, error %v\n%s", calls, live(t, p), err, &out)
			}
			if !c.swapped && !strings.Contains(out.String(), "laboratory 7, patient ") {
				t.Errorf("no one is named in %s", &out)
			}
			agrees(t, p)
		})
	}
}
