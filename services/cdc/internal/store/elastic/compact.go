package elastic

import (
	"context"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/lifecycle"
)

const lookAtMerge = 500 * time.Millisecond

// Compact merges the segments of each shard of target, an alias or an index, into one, and waits until this is done. It
// is useful after filling an index: segments share many terms, and a search looks up each of its terms in each segment.
func (s *Store) Compact(ctx context.Context, target string) error {
	var started struct{ Task string }
	merge := elastic.Call{Name: "indices.forcemerge", Request: esapi.IndicesForcemergeRequest{
		Index: []string{target}, MaxNumSegments: new(1), WaitForCompletion: new(false)}}
	err := s.ask(ctx, "merge segments", merge, nil, &started)
	look := elastic.Call{Name: "tasks.get", Request: esapi.TasksGetRequest{TaskID: started.Task}, Repeat: true}
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
