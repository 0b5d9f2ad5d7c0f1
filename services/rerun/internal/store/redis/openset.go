// Package redis writes the cache hash sample_rerun_<lab_id>, which maps a lab report's id to 1 while its rerun is open.
package redis

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/authn"
)

// OpenSet writes the hashes.
type OpenSet struct{ client redis.UniversalClient }

// New returns hashes over client, which the caller closes.
func New(client redis.UniversalClient) *OpenSet { return &OpenSet{client: client} }

// Set adds or removes a report. It is idempotent.
func (o *OpenSet) Set(ctx context.Context, scope authn.LabScope, reportID int64, open bool) error {
	key := keyOf(scope)
	field := strconv.FormatInt(reportID, 10)
	var err error
	if open {
		err = o.client.HSet(ctx, key, field, 1).Err()
	} else {
		err = o.client.HDel(ctx, key, field).Err()
	}
	if err != nil {
		return fmt.Errorf("update open reruns: %w", err)
	}
	return nil
}

// Entries returns the reports in the hash. Other fields are ignored.
func (o *OpenSet) Entries(ctx context.Context, scope authn.LabScope) ([]int64, error) {
	fields, err := o.client.HKeys(ctx, keyOf(scope)).Result()
	if err != nil {
		return nil, fmt.Errorf("read open reruns: %w", err)
	}
	ids := make([]int64, 0, len(fields))
	for _, field := range fields {
		if id, err := strconv.ParseInt(field, 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func keyOf(scope authn.LabScope) string {
	return "sample_rerun_" + strconv.FormatInt(scope.LabID(), 10)
}
