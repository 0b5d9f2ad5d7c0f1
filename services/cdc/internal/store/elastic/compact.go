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

// Compact merges the segments of each shard of target, an alias or an index, into one, and waits until this is done. It
// is useful after filling an index: segments share many terms, and a search looks up each of its terms in each segment.
func (s *Store) Compact(ctx context.Context, target string) error {
	var started struct{ Task string }
	merge := elastic.Call{Name: "indices.forcemerge", Method: http.MethodPost, Path: at(target, "_forcemerge"),
		Query: url.Values{"max_num_segments": {"1"}, "wait_for_completion": {"false"}}}
	err := s.ask(ctx, "merge segments", merge, nil, &started)
	task := "/_tasks/" + url.PathEscape(started.Task)
	look := elastic.Call{Name: "tasks.get", Method: http.MethodGet, Path: task, Repeat: true}
	for err == nil {
		var merged struct{ Completed bool }
		err = s.ask(ctx, "merge segments", look, nil, &merged)
		if err == nil && merged.Completed {
			return s.Refresh(ctx, target)
		}
		if err == nil {
			err = fault("merge segments", lifecycle.Pause(ctx, lookAtMerge))
		}
	}
	return err
}
