package memory

import (
	"context"
	"slices"
	"sync"

	"github.com/labplatform/labplatform/pkg/authn"
)

// OpenSet holds the reports with an open rerun, by laboratory.
type OpenSet struct {
	mu   sync.Mutex
	open map[int64]map[int64]bool // guarded by mu
}

// NewOpenSet returns an empty set.
func NewOpenSet() *OpenSet { return &OpenSet{open: map[int64]map[int64]bool{}} }

// Set adds or removes the report. Both may be repeated.
func (o *OpenSet) Set(_ context.Context, scope authn.LabScope, reportID int64, open bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open[scope.LabID()] == nil {
		o.open[scope.LabID()] = map[int64]bool{}
	}
	if open {
		o.open[scope.LabID()][reportID] = true
	} else {
		delete(o.open[scope.LabID()], reportID)
	}
	return nil
}

// Entries returns the laboratory's reports.
func (o *OpenSet) Entries(_ context.Context, scope authn.LabScope) ([]int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ids := []int64{}
	for id := range o.open[scope.LabID()] {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}
