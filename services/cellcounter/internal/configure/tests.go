package configure

import (
	"context"

	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

// MaxTests is the maximum number of tests in a list.
const MaxTests = 50

// Test is a test to whose parameters keys can be mapped.
type Test struct {
	ID          int64
	Name        string
	Own         bool // the owner has mapped keys
	HasDefaults bool // default mappings exist
}

// Format is a parameter of a test's report.
type Format struct {
	ID int64
	mapping.Parameter

	Name, Unit string
}

// Tests returns at most MaxTests of the owner's and the platform's tests whose names contain name, ignoring case. Tests
// with mapped keys are first. more reports whether there are others.
func (c *Configurer) Tests(ctx context.Context, owner mapping.Owner, name string) (list []Test, more bool, err error) {
	list, err = c.store.Tests(ctx, owner, name, MaxTests+1)
	if len(list) > MaxTests {
		return list[:MaxTests], true, err
	}
	return list, false, err
}

// Parameters returns the name of a test and the active parameters of its report, in their order.
func (c *Configurer) Parameters(
	ctx context.Context, testID int64, owner mapping.Owner,
) (name string, list []Format, err error) {
	return c.store.Parameters(ctx, testID, owner)
}
