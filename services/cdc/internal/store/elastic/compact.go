package elastic

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/lifecycle"
)

const lookAtMerge = 500 * time.Millisecond

// Compact merges the segments of every shard of target, an alias or an index, into one, and returns when that is done.
// It is worth its cost after an index was filled: segments that were made one after another hold the same words, and a
// search looks for each of its words in each of them.
func (s *Store) Compact(ctx context.Context, target string) error {
	var started struct{ Task string }
	err := s.client.Do(
		ctx,
		elastic.Call{Name: "indices.forcemerge", Method: http.MethodPost, Path: "/" + url.PathEscape(target) + "/_forcemerge",
			Query: url.Values{"max_num_segments": {"1"}, "wait_for_completion": {"false"}}},
		&started,
	)
	for err == nil {
		var task struct{ Completed bool }
		err = s.client.Do(ctx, elastic.Call{
			Name:   "tasks.get",
			Method: http.MethodGet,
			Path:   "/_tasks/" + url.PathEscape(started.Task),
			Repeat: true,
		}, &task)
		if err == nil && task.Completed {
			return fault("merge segments", s.Refresh(ctx, target))
		}
		if err == nil {
			err = lifecycle.Pause(ctx, lookAtMerge)
		}
	}
	return fault("merge segments", err)
}
