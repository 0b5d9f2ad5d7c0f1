package rebuild

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/labplatform/labplatform/services/cdc/internal/document"
)

// ErrLoses is returned if searches would no longer find some patients after a swap. Nothing is swapped.
var ErrLoses = errors.New(
	"the new index refuses patients whom searches find today; fix their rows or the mapping, then run `cdc rebuild` again, or `cdc rebuild --discard`")

const shownLosses = 50

// losing returns ErrLoses and lists the patients if a swap would lose patients or show an older state: the new index
// rejected their document, and the live index has a newer one.
func (f *filler) losing(ctx context.Context) error {
	var asked []document.Entry
	f.mu.Lock()
	for _, id := range slices.Sorted(maps.Keys(f.refused)) {
		asked = append(asked, document.Entry{UserID: id, Route: f.refused[id].lab})
	}
	f.mu.Unlock()
	var lost []document.Entry
	for page := range slices.Chunk(asked, pageSize) {
		found, err := f.newer(ctx, page)
		if err != nil {
			return err
		}
		lost = append(lost, found...)
	}
	if len(lost) == 0 {
		return nil
	}
	for _, e := range lost[:min(len(lost), shownLosses)] {
		f.r.say("  laboratory %d, patient %d: the new index says %s", e.LabID, e.UserID, f.refused[e.UserID].why)
	}
	return fmt.Errorf("%d patients: %w", len(lost), ErrLoses)
}

// newer returns the documents that are missing or older in this index than in the live one.
func (f *filler) newer(ctx context.Context, asked []document.Entry) ([]document.Entry, error) {
	held, err := f.r.d.Index.Find(ctx, f.r.d.Index.Live(), asked)
	if err != nil {
		return nil, err
	}
	here, err := f.r.d.Index.Find(ctx, f.target, asked)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(held, func(e document.Entry) bool {
		return e.Deleted || slices.ContainsFunc(here, func(h document.Entry) bool {
			return h.UserID == e.UserID && h.Version >= e.Version
		})
	}), nil
}
