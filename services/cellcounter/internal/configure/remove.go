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

// Reset deletes the laboratory's own mappings and target of the test, so that the defaults count again. It returns how
// many mappings were deleted, and what there is now. Repeating it changes nothing.
func (c *Configurer) Reset(ctx context.Context, testID int64, owner mapping.Owner) (int, View, error) {
	switch {
	case owner.IsNobody():
		return 0, View{}, mapping.ErrNoTest
	case owner.AreDefaults():
		return 0, View{}, errDefaults
	}
	deleted := 0
	err := c.store.Lock(ctx, testID, owner, func(l Locked) error {
		rows, err := l.Rows(ctx)
		if err != nil {
			return err
		}
		deleted = len(rows)
		if err := l.Delete(ctx, idsOf(rows)); err != nil {
			return err
		}
		return l.Forget(ctx)
	})
	if err != nil {
		return 0, View{}, err
	}
	c.observer.Deleted(deleted)
	view, err := c.store.Read(ctx, testID, owner)
	return deleted, view, err
}

// Remove deletes the mapping of one key and returns those that are left in the scope. Errors: NotFound.
func (c *Configurer) Remove(
	ctx context.Context, testID int64, owner mapping.Owner, key mapping.Key,
) ([]mapping.Row, error) {
	if owner.IsNobody() {
		return nil, mapping.ErrNoTest
	}
	var left []mapping.Row
	err := c.store.Lock(ctx, testID, owner, func(l Locked) error {
		rows, err := l.Rows(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(rows, func(r mapping.Row) bool { return r.Key.Is(key) })
		if i < 0 {
			return errNotMapped
		}
		if err := l.Delete(ctx, []int64{rows[i].ID}); err != nil {
			return err
		}
		left = slices.Delete(rows, i, i+1)
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.observer.Deleted(1)
	return left, nil
}

func idsOf(rows []mapping.Row) []int64 {
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	return ids
}
