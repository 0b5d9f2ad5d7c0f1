package rebuild

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/internal/reconcile"
)

// Index creates indexes and moves aliases. Errors are faults.
type Index interface {
	// Live and Next return the names of the two aliases.
	Live() string
	Next() string
	// Names returns the indexes behind the two aliases (empty if there is none) and the other indexes, newest first.
	Names(ctx context.Context) (live, next string, kept []string, err error)
	// CreateNext creates an index behind the next alias. If one exists, behind the alias or given up, it is used instead.
	// made reports whether an index was created.
	CreateNext(ctx context.Context) (name string, made bool, err error)
	// TakeOlder moves the next alias to the newest kept index that is older than the live one, and returns its name; empty
	// if there is none.
	TakeOlder(ctx context.Context) (string, error)
	// Compact merges the segments of target into one, because a search looks up every term in every segment.
	Compact(ctx context.Context, target string) error
	// Swap makes the next index the live one in one step.
	Swap(ctx context.Context) error
	Drop(ctx context.Context, name string) error
	// Target returns the write target for the index behind an alias.
	Target(ctx context.Context, target string) (indexsync.Target, error)
	// Find returns the current documents by UserID and Route.
	Find(ctx context.Context, target string, asked []document.Entry) ([]document.Entry, error)
	// Count returns the approximate number of documents in target.
	Count(ctx context.Context, target string) (int64, error)
}

// Rows reads user_meta. Errors are faults.
type Rows interface {
	Rows(ctx context.Context, scope authn.LabScope, after int64, limit int) ([]projection.Row, error)
	RowsByID(ctx context.Context, userIDs []int64) ([]projection.Row, error)
}

// Proof compares an index with user_meta and repairs differences.
type Proof interface {
	Labs(ctx context.Context) ([]authn.LabScope, error)
	Suspects(
		ctx context.Context, scope authn.LabScope, progress func(reconcile.Count),
	) (map[int64][]reconcile.Difference, reconcile.Count, error)
	Compare(ctx context.Context, scope authn.LabScope, progress func(reconcile.Count)) (reconcile.Result, error)
	Repair(ctx context.Context, differences []reconcile.Difference) ([]reconcile.Refusal, error)
}

// Writer sends operations to an index. *indexsync.Writer is one.
type Writer interface {
	Write(ctx context.Context, target string, ops []document.Op) ([]indexsync.Fate, error)
}

// DefaultWait is the time after which every process writes to both indexes.
const DefaultWait = 2 * indexsync.LookupEvery

// Deps are the dependencies and limits of a Rebuilder.
type Deps struct {
	Index Index
	Rows  Rows
	// Proof returns a comparison of the index behind an alias with user_meta. It need not read the sources.
	Proof   func(target string) Proof
	Writer  Writer
	Wait    time.Duration // DefaultWait; shorter in tests
	Workers int           // number of laboratories filled concurrently
	Clock   clock.Clock
	Out     io.Writer // receives progress messages
}

// Rebuilder creates and swaps indexes. Only one may run at a time; the caller holds a lock.
type Rebuilder struct {
	d     Deps
	maker *document.Maker
}

// New returns a Rebuilder with the dependencies d.
func New(d Deps) *Rebuilder {
	return &Rebuilder{d: d, maker: document.NewMaker(document.RevVersions{})}
}

// Run creates a new index, or continues with that of an unfinished run, and makes it the live one. After an error (a
// fault, ErrDiffers or ErrLoses) the live index is unchanged, and Run may be called again.
func (r *Rebuilder) Run(ctx context.Context) error {
	name, made, err := r.d.Index.CreateNext(ctx)
	if err != nil {
		return err
	}
	if made {
		r.say("made %s; waiting %s until it is written by all", name, r.d.Wait)
	} else {
		r.say("going on with %s; waiting %s until it is written by all", name, r.d.Wait)
	}
	f, err := r.fillNext(ctx, made)
	if err != nil {
		return err
	}
	r.compact(ctx, name) // before the comparison, which also finds what the index rejected during the merge
	return r.swap(ctx, f, name)
}

// Rollback makes the previous index the live one again, if the new one turns out to be wrong. The previous index is
// outdated, for example with patients who were deleted since, so it is filled and verified first. After an error (a
// fault, ErrDiffers or ErrLoses) the live index is unchanged, and Rollback may be called again.
func (r *Rebuilder) Rollback(ctx context.Context) error {
	name, err := r.d.Index.TakeOlder(ctx)
	switch {
	case err != nil:
		return err
	case name == "":
		return outcome.Operator(errors.New("no index before the live one is kept"), "make a new one with `cdc rebuild`")
	}
	r.say("going back to %s; waiting %s until it is written by all, then filling in what it has missed", name, r.d.Wait)
	f, err := r.fillNext(ctx, false)
	if err != nil {
		return err
	}
	return r.swap(ctx, f, name)
}

// fillNext fills the next index with all rows, or only with missing ones.
func (r *Rebuilder) fillNext(ctx context.Context, all bool) (*filler, error) {
	if err := lifecycle.Pause(ctx, r.d.Wait); err != nil {
		return nil, err
	}
	f, err := r.filler(ctx, r.d.Index.Next())
	if err != nil {
		return nil, err
	}
	return f, f.fill(ctx, all)
}

// swap verifies the next index and makes it the live one.
func (r *Rebuilder) swap(ctx context.Context, f *filler, name string) error {
	if err := f.verify(ctx); err != nil {
		return err
	}
	if err := f.losing(ctx); err != nil {
		return err
	}
	if err := r.d.Index.Swap(ctx); err != nil {
		return err
	}
	r.say("searches now read %s. An index before it is kept: `cdc rebuild --rollback` returns to it,"+
		" `cdc rebuild --discard` deletes all that are kept", name)
	return nil
}

// longestMerge is how long a rebuild waits for the merge. An engine with a nearly full disk delays the merge without
// reporting it.
const longestMerge = time.Hour

// compact makes searches of the new index faster. Errors are only reported, because the index is correct without it.
func (r *Rebuilder) compact(ctx context.Context, name string) {
	r.say("merging the segments of %s", name)
	ctx, done := context.WithTimeout(ctx, longestMerge)
	defer done()
	if err := r.d.Index.Compact(ctx, r.d.Index.Next()); err != nil {
		r.say("the segments of %s are not merged, so searches cost more until the engine has merged them"+
			" (a node whose disk is nearly full merges none): %v", name, err)
	}
}

// Discard deletes the index of an unfinished rebuild or rollback. If there is none, it deletes the kept indexes, but
// only while an index is live. The error is a fault.
func (r *Rebuilder) Discard(ctx context.Context) error {
	live, next, kept, err := r.d.Index.Names(ctx)
	if err != nil {
		return err
	}
	switch {
	case next != "":
		kept = []string{next}
	case live == "" && len(kept) > 0: // one of the kept indexes may be the only one with data
		return outcome.Operator(fmt.Errorf("searches read no index, and %s may be theirs", strings.Join(kept, ", ")),
			"give the right one the alias back, or make another with `cdc rebuild`; then discard")
	}
	if len(kept) == 0 {
		r.say("there is nothing to delete: no rebuild is unfinished and no index is kept")
	}
	for _, name := range kept {
		if err := r.d.Index.Drop(ctx, name); err != nil {
			return err
		}
		r.say("deleted %s", name)
	}
	return nil
}

func (r *Rebuilder) say(format string, args ...any) { fmt.Fprintf(r.d.Out, format+"\n", args...) }
