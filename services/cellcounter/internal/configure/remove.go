package configure

import (
	"context"
	"slices"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

var (
	errNotMapped = apperr.New(apperr.NotFound, "KEY_NOT_MAPPED", "This key is not mapped for the test")
	errDefaults  = apperr.InvalidField("lab_id",
		"lab_id is required: a laboratory goes back to the defaults, which are not deleted themselves")
)

// Reset deletes the laboratory's own mappings and target of the test, so that the defaults apply again. It returns the
// number of deleted mappings and the mappings now in effect. It is idempotent.
func (c *Configurer) Reset(ctx context.Context, testID int64, owner mapping.Owner) (int, View, error) {
	switch {
	case owner.IsNone():
		return 0, View{}, mapping.ErrNoTest
	case owner.AreDefaults():
		return 0, View{}, errDefaults
	}
	d, err := c.store.ChangeMappings(ctx, testID, owner, DecideReset)
	if err != nil {
		return 0, View{}, err
	}
	c.observer.Deleted(len(d.Delete))
	view, err := c.store.Mappings(ctx, testID, owner)
	return len(d.Delete), view, err
}

// DecideReset returns the decision that deletes the scope's own mappings and its target.
func DecideReset(f Facts) (Decision, error) { return Decision{Delete: f.Rows, DropTarget: true}, nil }

// Remove deletes the mapping of one key and returns the remaining mappings of the scope. It returns NotFound if the key
// is not mapped.
func (c *Configurer) Remove(
	ctx context.Context, testID int64, owner mapping.Owner, key mapping.Key,
) ([]mapping.Row, error) {
	if owner.IsNone() {
		return nil, mapping.ErrNoTest
	}
	d, err := c.store.ChangeMappings(ctx, testID, owner,
		func(f Facts) (Decision, error) { return DecideRemove(f, key) })
	if err != nil {
		return nil, err
	}
	c.observer.Deleted(len(d.Delete))
	return d.Rows, nil
}

// DecideRemove returns the decision that deletes the mapping of a key, or errNotMapped (NotFound) if there is none.
func DecideRemove(f Facts, key mapping.Key) (Decision, error) {
	i := slices.IndexFunc(f.Rows, func(r mapping.Row) bool { return r.Key.Is(key) })
	if i < 0 {
		return Decision{}, errNotMapped
	}
	return Decision{Delete: f.Rows[i : i+1], Rows: slices.Delete(slices.Clone(f.Rows), i, i+1)}, nil
}
