package route

import (
	"context"
	"fmt"
	"reflect"
)

// Source reads the configuration, disabled rows included.
type Source interface {
	Providers(ctx context.Context) ([]Row, error)
}

// Watch keeps a set like its source. It is for one loop at a time.
type Watch struct {
	source Source
	set    *Set
	last   []Row
	failed bool // the last rows were refused: the same ones are refused again
}

// NewWatch makes a watch.
func NewWatch(source Source, set *Set) *Watch { return &Watch{source: source, set: set} }

// RunOnce reads the rows once and takes them when they changed. An error leaves the set as it is; rows that were
// refused are tried again, because a secret they name may have come.
func (w *Watch) RunOnce(ctx context.Context) error {
	rows, err := w.source.Providers(ctx)
	if err != nil {
		return fmt.Errorf("read the providers: %w", err)
	}
	if w.set.Loaded() && !w.failed && reflect.DeepEqual(rows, w.last) {
		return nil
	}
	w.last = rows
	err = w.set.Replace(rows)
	w.failed = err != nil
	return err
}
