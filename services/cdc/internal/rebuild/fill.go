package rebuild

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/internal/reconcile"
)

const (
	pageSize = 1000
	// maxRepairs is how often one patient is repaired. If the patient still differs, the rebuild fails.
	maxRepairs = 2
	// verifyTries is the maximum number of comparisons of a laboratory in which each time other patients differ, because
	// the pipeline has not written their changes yet. If the last one still finds differences, the pipeline is too slow.
	verifyTries = 20
)

// ErrDiffers is returned if the new index still differs from user_meta after all repairs. Nothing is swapped, and the
// new index is kept for inspection.
var ErrDiffers = errors.New(
	"the index does not agree with user_meta; look at the patients above, then run `cdc rebuild` again or `cdc rebuild --discard`")

// filler fills one index.
type filler struct {
	r      *Rebuilder
	target string
	alias  string          // alias used for writes
	maker  *document.Maker // makes documents for the schema of the index
	proof  Proof
	meter  *meter

	mu      sync.Mutex
	refused map[int64]refusal // guarded by mu; patients whose document the index rejected
}

// refusal is the rejection of a document by the index.
type refusal struct {
	lab int64
	why string // error type returned by the index
}

func (r *Rebuilder) filler(ctx context.Context, target string) (*filler, error) {
	write, err := r.d.Index.Target(ctx, target)
	if err != nil {
		return nil, err
	}
	return &filler{
		r:       r,
		target:  target,
		alias:   write.Alias,
		maker:   r.maker.Of(write.Schema),
		proof:   r.d.Proof(target),
		refused: map[int64]refusal{},
	}, nil
}

// fill writes all rows or, if all is false, only rows that are missing or possibly wrong in the index.
func (f *filler) fill(ctx context.Context, all bool) error {
	labs, err := f.proof.Labs(ctx)
	if err != nil {
		return err
	}
	about, _ := f.r.d.Index.Count(ctx, f.r.d.Index.Live()) // after an error, the remaining time is not shown
	f.meter = newMeter(f.r.d.Out, f.r.d.Clock, about)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, f.r.d.Workers))
	for _, lab := range labs {
		group.Go(func() error {
			if all {
				return f.everything(ctx, lab)
			}
			return f.lacking(ctx, lab)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	f.meter.end()
	return nil
}

func (f *filler) everything(ctx context.Context, lab authn.LabScope) error {
	for after := int64(math.MinInt64); ; {
		rows, err := f.r.d.Rows.Rows(ctx, lab, after, pageSize)
		if err != nil {
			return err
		}
		if err := f.write(ctx, rows); err != nil {
			return err
		}
		f.meter.add(len(rows))
		if len(rows) < pageSize {
			return nil
		}
		after = rows[len(rows)-1].UserID
	}
}

// lacking writes the rows of patients that differ in one comparison. The comparison is not repeated, because writing a
// row at its own version is harmless.
func (f *filler) lacking(ctx context.Context, lab authn.LabScope) error {
	suspects, count, err := f.proof.Suspects(ctx, lab, func(reconcile.Count) {})
	if err != nil {
		return err
	}
	if err := f.again(ctx, slices.Sorted(maps.Keys(suspects))); err != nil {
		return err
	}
	f.meter.add(int(count.Patients))
	return nil
}

// again writes the rows of patients.
func (f *filler) again(ctx context.Context, ids []int64) error {
	for page := range slices.Chunk(ids, pageSize) {
		rows, err := f.r.d.Rows.RowsByID(ctx, page)
		if err != nil {
			return err
		}
		if err := f.write(ctx, rows); err != nil {
			return err
		}
	}
	return nil
}

func (f *filler) write(ctx context.Context, rows []projection.Row) error {
	var ops []document.Op
	for i := range rows {
		ops = append(ops, f.maker.Write(&rows[i])...)
	}
	if len(ops) == 0 {
		return nil
	}
	fates, err := f.r.d.Writer.Write(ctx, f.alias, ops)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, fate := range fates {
		if fate.Verdict == indexsync.Poison {
			f.refused[ops[i].ID] = refusal{ops[i].Route, fate.Kind}
		}
	}
	return nil
}

// verify compares each laboratory and repairs differences. Patients with rejected documents are left out: their records
// are dead letters, and losing checks whether a swap would lose them.
func (f *filler) verify(ctx context.Context) error {
	labs, err := f.proof.Labs(ctx)
	if err != nil {
		return err
	}
	var total int64
	for _, lab := range labs {
		count, err := f.agree(ctx, lab)
		if err != nil {
			return err
		}
		total += count
	}
	f.r.say("%d laboratories, %d patients, 0 differences, %d patients whom the index refuses", len(labs), total,
		len(f.refused))
	return nil
}

// agree repairs a laboratory until it has no differences, and returns the number of its patients.
func (f *filler) agree(ctx context.Context, lab authn.LabScope) (int64, error) {
	repaired := map[int64]int{} // number of repairs by patient
	for try := 1; ; try++ {
		result, err := f.proof.Compare(ctx, lab, func(reconcile.Count) {})
		if err != nil {
			return 0, err
		}
		differences := slices.DeleteFunc(result.Differences,
			func(d reconcile.Difference) bool { return f.refused[d.UserID] != (refusal{}) })
		if len(differences) == 0 {
			return result.Patients, nil
		}
		stays := func(d reconcile.Difference) bool { return repaired[d.UserID] >= maxRepairs }
		if try == verifyTries || slices.ContainsFunc(differences, stays) {
			for _, d := range differences[:min(len(differences), 20)] {
				f.r.say("  %s", d)
			}
			return 0, fmt.Errorf("laboratory %d: %d differences: %w", lab.LabID(), len(differences), ErrDiffers)
		}
		if err := f.repair(ctx, differences); err != nil {
			return 0, err
		}
		for id := range patients(differences) {
			repaired[id]++
		}
	}
}

func patients(differences []reconcile.Difference) map[int64]bool {
	all := map[int64]bool{}
	for _, d := range differences {
		all[d.UserID] = true
	}
	return all
}

// repair writes the rows of missing and outdated documents. Other differences are repaired as in the live index.
func (f *filler) repair(ctx context.Context, differences []reconcile.Difference) error {
	var ids []int64
	var others []reconcile.Difference
	for _, d := range differences {
		behind := d.Kind == reconcile.Missing || (d.Kind == reconcile.Stale && document.RevOf(d.Version) < d.Rev)
		if behind {
			ids = append(ids, d.UserID)
		} else {
			others = append(others, d)
		}
	}
	if err := f.again(ctx, ids); err != nil {
		return err
	}
	if len(others) == 0 {
		return nil
	}
	if _, err := f.proof.Repair(ctx, others); err != nil {
		return err
	}
	for _, d := range others {
		ids = append(ids, d.UserID)
	}
	return f.again(ctx, ids) // with the revisions from the repair
}
